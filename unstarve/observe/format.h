#pragma once
// Figures and foreign text as people read them, the same in the terminal's tables, verdicts and reports.
//
// Threads: pure functions. Independent of the locale: the decimal mark is a point, thousands are set apart by a space.

#include <cstdint>
#include <string>
#include <string_view>

namespace unstarve {

// "41 200", "612", "61.2", "0.612": three significant digits or all of the integer part; "-" when not finite.
[[nodiscard]] std::string format_rate(double per_second);
// "512 B", "1.50 MB", "2.51 GB": powers of 1024; "-" for 0.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
// "97.7 %" of 0.977, "144 %" from 100 % on; "-" when not finite.
[[nodiscard]] std::string format_percent(double share);
// "1.44 [1.42, 1.46]"; an open upper end reads "inf".
[[nodiscard]] std::string format_interval(double ratio, double low, double high);
// "41 s" below 100 s, "7:05 min" below 100 min, else "3:20 h", minutes cut; "-" for what is no time from 0 to 10^12 s.
[[nodiscard]] std::string format_duration(double seconds);

// Foreign text (names, paths) made safe for one line of a terminal: control characters, which may carry escape
// sequences, become '?'.
[[nodiscard]] std::string printable(std::string_view text);
// Columns that UTF-8 text takes: code points; double-width and combining characters are not told apart.
[[nodiscard]] std::size_t text_width(std::string_view utf8);
// Cut to `width` columns, the last of them an ellipsis when something was lost.
[[nodiscard]] std::string clip(std::string_view utf8, std::size_t width);
[[nodiscard]] std::string pad_right(std::string_view utf8, std::size_t width);
[[nodiscard]] std::string pad_left(std::string_view utf8, std::size_t width);
// Words in lines of at most `width` columns, one longer word alone on its line. The first `indent` columns of each are
// taken: of the first line by what the text is put behind, of later ones by blanks. Blanks in a row are one; no line
// end behind the last line.
[[nodiscard]] std::string wrap(std::string_view utf8, std::size_t width, std::size_t indent = 0);

}  // namespace unstarve
