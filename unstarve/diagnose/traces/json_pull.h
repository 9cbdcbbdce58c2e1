#pragma once
// Reads JSON piece by piece, without building values: the caller reads or skips what comes next.
//
//   json.enter('{');
//   while (json.next_key())
//     if (json.key() == "name") name = json.text(); else json.skip();
//
// Accepts what profilers write although JSON forbids it: control characters and unknown escapes in strings, bytes that
// are not UTF-8, NaN and Infinity. Values that are skipped are not checked, except that brackets and strings end.
//
// Ownership: borrows the pieces from `next`, one at a time.
// Threads:   one.
// Failure:   Error(kInput): name of the file, byte, what was found and expected.
// Cost:      no allocation except for strings that cross pieces or have escapes; memory is the longest string.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

class JsonPull {
 public:
  using Next = std::function<std::span<const std::uint8_t>()>;  // the next piece; empty at the end

  JsonPull(Next next, std::string name) : next_(std::move(next)), name_(std::move(name)) {}

  // The first character of the next value, after blanks; 0 at the end of the file.
  [[nodiscard]] char peek();
  // Begins an object ('{') or an array ('[').
  void enter(char bracket);
  // In an object: moves to the next member, whose value must then be read or skipped. False at its end.
  [[nodiscard]] bool next_key();
  [[nodiscard]] const std::string& key() const { return key_; }
  // In an array: whether another element follows, which must then be read or skipped. False at its end.
  [[nodiscard]] bool next_element();

  // A string; valid until the next call of any function.
  [[nodiscard]] std::string_view text();
  // A number, or one in a string; 0 for NaN, null and others.
  [[nodiscard]] double number();
  // A number of microseconds, in nanoseconds, without rounding; limited to about 290 years. Nothing for other values;
  // `found` is then their text.
  [[nodiscard]] std::optional<std::int64_t> microseconds_as_ns(std::string& found);
  // A string or a number as text; empty for other values, which are skipped. Valid as text().
  [[nodiscard]] std::string_view scalar();
  void skip();

  // Sets what is named in errors, for example "event 17".
  void set_record(std::string record) { record_ = std::move(record); }
  [[noreturn]] void fail(const std::string& expected);

 private:
  [[nodiscard]] bool refill();
  void skip_blanks();
  [[nodiscard]] bool advance(char close);  // to the next member or element
  [[nodiscard]] std::string_view plain();  // the characters of a number or literal
  void append_escape();
  [[nodiscard]] char take();

  Next next_;
  std::string name_, record_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t before_ = 0;  // bytes of the pieces before this one
  const char* begin_ = nullptr;
  std::string key_, text_;
  std::vector<bool> first_;  // per open bracket: nothing was read in it
};

}  // namespace unstarve
