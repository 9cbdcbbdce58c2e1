#include "unstarve/observe/html.h"

#include <fmt/format.h>

#include "unstarve/core/utf8.h"

namespace unstarve {

std::string escape_html(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      case '\t':
      case '\n':
      case '\r': safe += c; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          safe += "\xEF\xBF\xBD";
        else
          safe += c;
    }
  }
  return safe;
}

std::string escape_json_island(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos; at += 6) json.replace(at, 1, "\\u003c");
  return json;
}

HtmlTable::HtmlTable(std::string caption_text, std::vector<Column> columns, bool cards)
    : caption_(std::move(caption_text)), columns_(std::move(columns)), cards_(cards) {}

void HtmlTable::add_row(const std::vector<std::string>& cells_html, std::string_view row_class) {
  rows_ += fmt::format("<tr role=\"row\" class=\"{}\">", row_class);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string& cell = cells_html.at(i);
    const char* const kind = columns_[i].number ? "number" : "words";
    const bool empty = cell.empty();
    if (i == 0) {
      rows_ += fmt::format("<th scope=\"row\" role=\"rowheader\" class=\"{}\">{}</th>", kind, cell);
    } else {
      rows_ += fmt::format("<td role=\"cell\" class=\"{}{}\" data-title=\"{}\">{}</td>", kind, empty ? " empty" : "",
                           escape_html(columns_[i].title), cell);
    }
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::finish() const {
  // Explicit roles: browsers drop the table semantics when CSS lays rows out as cards.
  std::string html = fmt::format(
      "<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table role=\"table\" class=\"{1}\">"
      "<caption>{0}{2}</caption><thead role=\"rowgroup\"><tr role=\"row\">",
      escape_html(caption_), cards_ ? "cards" : "plain", link_);
  for (const Column& column : columns_) {
    html += fmt::format("<th scope=\"col\" role=\"columnheader\" class=\"{}\">{}</th>",
                        column.number ? "number" : "words", escape_html(column.title));
  }
  return html + "</tr></thead>\n<tbody role=\"rowgroup\">\n" + rows_ + "</tbody></table></div>\n";
}

std::string facts_list(const std::vector<Fact>& facts) {
  std::string html = "<dl class=\"facts\">\n";
  for (const Fact& fact : facts) {
    if (fact.value.empty()) continue;
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(fact.name), escape_html(fact.value));
  }
  return html + "</dl>\n";
}

}  // namespace unstarve
