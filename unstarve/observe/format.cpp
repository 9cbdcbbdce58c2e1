#include "unstarve/observe/format.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstring>

namespace unstarve {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

std::string format_rate(double per_second) {
  if (!std::isfinite(per_second)) return "-";
  const double size = std::abs(per_second);
  if (size < 0.9995) return fmt::format("{:.3f}", per_second);
  if (size < 9.995) return fmt::format("{:.2f}", per_second);
  if (size < 99.95) return fmt::format("{:.1f}", per_second);
  std::string digits = fmt::format("{:.0f}", per_second);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t end = digits.size(); end > first + 3;) {
    end -= 3;
    digits.insert(end, 1, ' ');
  }
  return digits;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes == 0) return "-";
  if (bytes < 1000) return fmt::format("{} B", bytes);
  static constexpr std::array<const char*, 5> kUnits = {"KB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string format_percent(double share) {
  if (!std::isfinite(share)) return "-";
  const double percent = share * 100;
  return std::abs(percent) < 99.95 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string format_interval(double ratio, double low, double high) {
  const auto end = [](double value) { return std::isinf(value) ? std::string("inf") : fmt::format("{:.2f}", value); };
  return fmt::format("{:.2f} [{}, {}]", ratio, end(low), end(high));
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0 && seconds <= 1e12)) return "-";
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

std::string now_utc() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now())); }

std::string printable(std::string_view text) {
  std::string safe(text);
  for (char& c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  // U+0080..U+009F, the other control characters, are C2 80..C2 9F in UTF-8.
  for (std::size_t i = 0; i + 1 < safe.size(); ++i) {
    if (static_cast<unsigned char>(safe[i]) == 0xC2 && static_cast<unsigned char>(safe[i + 1]) < 0xA0) {
      safe.replace(i, 2, "?");
    }
  }
  return safe;
}

std::string shell_quoted(std::string_view argument) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_@%+=:,./-", c); };
  if (!argument.empty() && std::ranges::all_of(argument, plain)) return std::string(argument);
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::size_t text_width(std::string_view utf8) {
  std::size_t width = 0;
  for (const char c : utf8) width += starts_code_point(c) ? 1 : 0;
  return width;
}

std::string clip(std::string_view utf8, std::size_t width) {
  if (text_width(utf8) <= width) return std::string(utf8);
  if (width == 0) return {};
  std::size_t columns = 0;
  std::size_t end = 0;
  for (; end < utf8.size(); ++end) {
    if (starts_code_point(utf8[end]) && ++columns == width) break;
  }
  return std::string(utf8.substr(0, end)) + "…";
}

std::string pad_right(std::string_view utf8, std::size_t width) {
  const std::size_t have = text_width(utf8);
  return std::string(utf8) + std::string(have < width ? width - have : 0, ' ');
}

std::string pad_left(std::string_view utf8, std::size_t width) {
  const std::size_t have = text_width(utf8);
  return std::string(have < width ? width - have : 0, ' ') + std::string(utf8);
}

std::string wrap(std::string_view utf8, std::size_t width, std::size_t indent) {
  std::string text;
  std::size_t column = indent;  // == indent: the line is empty
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t end = std::min(utf8.find(' ', at), utf8.size());
    const std::string_view word = utf8.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const std::size_t columns = text_width(word);
    if (column > indent && column + 1 + columns > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      text += ' ';
      ++column;
    }
    text += word;
    column += columns;
  }
  return text;
}

}  // namespace unstarve
