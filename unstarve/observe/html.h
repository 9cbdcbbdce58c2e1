#pragma once
// HTML out of foreign text, and the two shapes the report is made of: tables and lists of facts.
//
// Threads: pure functions. Every function that takes `text` escapes it; those that take `html` do not.

#include <string>
#include <string_view>
#include <vector>

#include "unstarve/observe/facts.h"

namespace unstarve {

// For element content and for attribute values in either quote.
[[nodiscard]] std::string escape_html(std::string_view text);
// JSON that cannot end the script element around it.
[[nodiscard]] std::string escape_json_island(std::string json);

struct Column {
  const char* title;
  bool number = false;  // right-aligned, in figures of equal width
};

// A table in a box of its own that scrolls when it is too wide. `cells` are HTML. With `cards`, rows become cards on a
// narrow screen.
class HtmlTable {
 public:
  HtmlTable(std::string caption_text, std::vector<Column> columns, bool cards = false);
  void add_row(const std::vector<std::string>& cells_html, std::string_view row_class = {});
  [[nodiscard]] std::string finish() const;

 private:
  std::string caption_;
  std::vector<Column> columns_;
  bool cards_;
  std::string rows_;
};

[[nodiscard]] std::string facts_list(const std::vector<Fact>& facts);

}  // namespace unstarve
