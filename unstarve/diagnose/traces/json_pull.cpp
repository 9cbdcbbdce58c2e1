#include "unstarve/diagnose/traces/json_pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::size_t kDeepest = 256;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool ends_plain(char c) { return is_blank(c) || c == ',' || c == ']' || c == '}' || c == ':' || c == '"'; }

double to_number(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::isfinite(value) ? value : 0;
}

std::int64_t to_ns(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto digits = [](std::string_view part) {
    return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest = point < text.size() ? text.substr(point + 1) : std::string_view();
  constexpr std::int64_t kLimitUs = 9'000'000'000'000'000;
  std::int64_t ns = 0;
  std::from_chars(whole.data(), whole.data() + whole.size(), ns);
  if (whole.size() > 16 || ns >= kLimitUs || !digits(whole) || !digits(rest)) {
    constexpr double kLimitNs = 1e3 * kLimitUs;
    const double rounded = std::clamp(1e3 * to_number(text), -kLimitNs, kLimitNs);
    return static_cast<std::int64_t>(negative ? -rounded : rounded);
  }
  for (std::size_t i = 0; i < 3; ++i) ns = 10 * ns + (i < rest.size() ? rest[i] - '0' : 0);
  return negative ? -ns : ns;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 63));
  } else {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  }
}

}  // namespace

bool JsonPull::refill() {
  before_ += static_cast<std::uint64_t>(end_ - begin_);
  const std::span<const std::uint8_t> piece = next_();
  begin_ = at_ = reinterpret_cast<const char*>(piece.data());
  end_ = at_ + piece.size();
  return !piece.empty();
}

void JsonPull::fail(const std::string& expected) {
  const std::uint64_t byte = before_ + static_cast<std::uint64_t>(at_ - begin_);
  const bool ended = at_ == end_ && !refill();
  const std::string found =
      ended ? "the file ends" : fmt::format("found byte 0x{:02x}", static_cast<unsigned char>(*at_));
  throw Error(ErrorKind::kInput,
              fmt::format("read trace {}: {}byte {}: {}; expected {}. {}", name_, record_.empty() ? "" : record_ + ", ",
                          byte, found, expected,
                          ended ? "The trace is truncated: record it again and let the profiler finish."
                                : "The file is damaged, or not a trace."));
}

void JsonPull::skip_blanks() {
  do {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  } while (at_ == end_ && refill());
}

char JsonPull::peek() {
  skip_blanks();
  return at_ == end_ ? '\0' : *at_;
}

char JsonPull::take() {
  if (at_ == end_ && !refill()) fail("the end of a string");
  return *at_++;
}

void JsonPull::enter(char bracket) {
  if (peek() != bracket) fail(bracket == '{' ? "an object" : "an array");
  if (first_.size() >= kDeepest) fail(fmt::format("at most {} nested values", kDeepest));
  ++at_;
  first_.push_back(true);
}

bool JsonPull::advance(char close) {
  char c = peek();
  if (c == close) {
    ++at_;
    first_.pop_back();
    return false;
  }
  if (!first_.back()) {
    if (c != ',') fail(fmt::format("',' or '{}'", close));
    ++at_;
    c = peek();
    if (c == close) {  // a comma after the last element
      ++at_;
      first_.pop_back();
      return false;
    }
  }
  if (c == '\0') fail(close == '}' ? "a member or '}'" : "an element or ']'");
  first_.back() = false;
  return true;
}

bool JsonPull::next_key() {
  if (!advance('}')) return false;
  if (peek() != '"') fail("a name in quotation marks");
  key_ = text();
  if (peek() != ':') fail("':'");
  ++at_;
  return true;
}

bool JsonPull::next_element() { return advance(']'); }

std::string_view JsonPull::text() {
  if (peek() != '"') fail("a string");
  ++at_;
  // The common case: the string is in this piece and has no escapes.
  const char* const begin = at_;
  while (at_ != end_ && *at_ != '"' && *at_ != '\\') ++at_;
  if (at_ != end_ && *at_ == '"') return {begin, static_cast<std::size_t>(at_++ - begin)};
  text_.assign(begin, at_);
  for (;;) {
    const char c = take();
    if (c == '"') return text_;
    if (c == '\\')
      append_escape();
    else
      text_.push_back(c);
  }
}

void JsonPull::append_escape() {
  const char c = take();
  switch (c) {
    case 'n': text_.push_back('\n'); return;
    case 't': text_.push_back('\t'); return;
    case 'r': text_.push_back('\r'); return;
    case 'b': text_.push_back('\b'); return;
    case 'f': text_.push_back('\f'); return;
    case '"':
    case '/':
    case '\\': text_.push_back(c); return;
    case 'u': break;
    default:  // paths of Windows that were not escaped
      text_.push_back('\\');
      text_.push_back(c);
      return;
  }
  std::uint32_t code = 0;
  for (int digit = 0; digit < 4; ++digit) {
    const char hex = take();
    std::uint32_t value = 0;
    if (std::from_chars(&hex, &hex + 1, value, 16).ec != std::errc()) {
      --at_;
      fail("four hexadecimal digits after \\u");
    }
    code = 16 * code + value;
  }
  append_utf8(text_, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);  // halves of pairs become U+FFFD
}

std::string_view JsonPull::plain() {
  if (peek() == '\0') fail("a value");
  const char* const begin = at_;
  while (at_ != end_ && !ends_plain(*at_)) ++at_;
  if (at_ != end_ && at_ != begin) return {begin, static_cast<std::size_t>(at_ - begin)};
  text_.assign(begin, at_);
  constexpr std::size_t kLongest = 1024;
  while ((at_ != end_ || refill()) && !ends_plain(*at_) && text_.size() < kLongest) text_.push_back(*at_++);
  if (text_.empty() || text_.size() == kLongest) fail("a value");
  return text_;
}

std::string_view JsonPull::scalar() {
  const char c = peek();
  if (c == '"') return text();
  if (c == '{' || c == '[') {
    skip();
    return {};
  }
  return plain();
}

double JsonPull::number() { return to_number(scalar()); }

std::optional<std::int64_t> JsonPull::microseconds_as_ns(std::string& found) {
  const std::string_view text = scalar();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) return to_ns(text);
  found = text.empty() ? "no number" : text;
  return std::nullopt;
}

void JsonPull::skip() {
  const char first = peek();
  if (first != '{' && first != '[') {
    (void)scalar();
    return;
  }
  std::size_t depth = 0;
  do {
    if (at_ == end_ && !refill()) fail(first == '{' ? "'}'" : "']'");
    const char c = *at_++;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    for (char inside = take(); inside != '"'; inside = take())
      if (inside == '\\') (void)take();
  } while (depth > 0);
}

}  // namespace unstarve
