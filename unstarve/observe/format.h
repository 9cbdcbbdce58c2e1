#pragma once
// Formats figures and untrusted text the same way in terminal tables, verdicts and reports.
//
// Threads: pure functions, except now_utc(). Independent of the locale: the decimal mark is a point, the thousands
// separator a space.

#include <cstdint>
#include <string>
#include <string_view>

namespace unstarve {

// "41 200", "612", "61.2", "0.612": three significant digits, or the whole integer part; "-" when not finite.
[[nodiscard]] std::string format_rate(double per_second);
// "512 B", "1.50 MB", "2.51 GB": powers of 1000, as in specs; "-" for 0.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
// "97.7 %" for 0.977, no decimals from 100 % ("144 %"); "-" when not finite.
[[nodiscard]] std::string format_percent(double share);
// "1.44 [1.42, 1.46]"; an open upper end reads "inf".
[[nodiscard]] std::string format_interval(double ratio, double low, double high);
// "41 s" below 100 s, "7:05 min" below 100 min, else "3:20 h" (rounded down); "-" outside 0 to 10^12 s.
[[nodiscard]] std::string format_duration(double seconds);

// The present time in UTC: "2026-11-21T08:00:00Z".
[[nodiscard]] std::string now_utc();

// Makes untrusted text (names, paths) safe for one line of a terminal: control characters become '?', so that escape
// sequences have no effect.
[[nodiscard]] std::string printable(std::string_view text);
// The argument as a shell reads it: quoted unless it consists of letters, digits and "_@%+=:,./-".
[[nodiscard]] std::string shell_quoted(std::string_view argument);
// Number of columns of UTF-8 text: its code points. Double-width and combining characters also count as one.
[[nodiscard]] std::size_t text_width(std::string_view utf8);
// Cuts to `width` columns; the last column is an ellipsis if text was cut.
[[nodiscard]] std::string clip(std::string_view utf8, std::size_t width);
[[nodiscard]] std::string pad_right(std::string_view utf8, std::size_t width);
[[nodiscard]] std::string pad_left(std::string_view utf8, std::size_t width);
// Wraps words into lines of at most `width` columns; a longer word gets a separate line. The first line starts at
// column `indent` (the caller has printed a prefix), the following lines are indented by `indent` blanks. Runs of
// blanks become one; no newline at the end.
[[nodiscard]] std::string wrap(std::string_view utf8, std::size_t width, std::size_t indent = 0);

}  // namespace unstarve
