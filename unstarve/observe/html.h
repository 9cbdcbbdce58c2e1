#pragma once
// HTML escaping of untrusted text, and the two building blocks of the report: tables and lists of facts.
//
// Threads: pure functions. Parameters named `text` are escaped; parameters named `html` are not.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unstarve/observe/facts.h"

namespace unstarve {

// For element content and quoted attribute values. Invalid UTF-8 and control characters, except
// those of white space, become U+FFFD.
[[nodiscard]] std::string escape_html(std::string_view text);
// Escapes JSON so that it cannot end the enclosing script element.
[[nodiscard]] std::string escape_json_island(std::string json);

struct Column {
  const char* title;
  bool number = false;  // right-aligned, tabular figures
};

// A table in a box that scrolls if it is too wide. With `cards`, rows become cards on a narrow screen.
class HtmlTable {
 public:
  HtmlTable(std::string caption_text, std::vector<Column> columns, bool cards = false);
  // Markup after the caption.
  void link(std::string html) { link_ = std::move(html); }
  void add_row(const std::vector<std::string>& cells_html, std::string_view row_class = {});
  [[nodiscard]] std::string finish() const;

 private:
  std::string caption_, link_;
  std::vector<Column> columns_;
  bool cards_;
  std::string rows_;
};

[[nodiscard]] std::string facts_list(const std::vector<Fact>& facts);

}  // namespace unstarve
