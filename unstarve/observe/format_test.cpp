#include "unstarve/observe/format.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace unstarve;

TEST_CASE("rates have three digits and a thousands separator", "[format]") {
  CHECK(format_rate(41200) == "41 200");
  CHECK(format_rate(1234567) == "1 234 567");
  CHECK(format_rate(999.6) == "1 000");
  CHECK(format_rate(612.4) == "612");
  CHECK(format_rate(99.96) == "100");
  CHECK(format_rate(61.24) == "61.2");
  CHECK(format_rate(2.9) == "2.90");
  CHECK(format_rate(0.0612) == "0.061");
  CHECK(format_rate(-1234) == "-1 234");
  CHECK(format_rate(std::numeric_limits<double>::infinity()) == "-");
}

TEST_CASE("bytes use the unit with the fewest digits", "[format]") {
  CHECK(format_bytes(0) == "-");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(1500) == "1.50 KB");
  CHECK(format_bytes(250'000'000) == "250 MB");
  CHECK(format_bytes(999'900'000) == "1.00 GB");
  CHECK(format_bytes(5'000'000'000'000'000) == "5.00 PB");
}

TEST_CASE("percentages and intervals are formatted as in the tables", "[format]") {
  CHECK(format_percent(0.977) == "97.7 %");
  CHECK(format_percent(1.44) == "144 %");
  CHECK(format_percent(0.99999) == "100 %");
  CHECK(format_interval(1.44, 1.42, 1.46) == "1.44 [1.42, 1.46]");
  CHECK(format_interval(1, 0, std::numeric_limits<double>::infinity()) == "1.00 [0.00, inf]");
}

TEST_CASE("durations are given in seconds, minutes or hours", "[format]") {
  CHECK(format_duration(0) == "0 s");
  CHECK(format_duration(41.4) == "41 s");
  CHECK(format_duration(99.4) == "99 s");
  CHECK(format_duration(99.5) == "1:40 min");
  CHECK(format_duration(425) == "7:05 min");
  CHECK(format_duration(5999.4) == "99:59 min");
  CHECK(format_duration(5999.5) == "1:40 h");
  CHECK(format_duration(12059) == "3:20 h");
  CHECK(format_duration(360000) == "100:00 h");
  CHECK(format_duration(-1) == "-");
  CHECK(format_duration(std::numeric_limits<double>::infinity()) == "-");
  CHECK(format_duration(std::numeric_limits<double>::quiet_NaN()) == "-");
}

TEST_CASE("untrusted text cannot control the terminal", "[format]") {
  CHECK(printable("a\x1b[31mb\nc\x7f") == "a?[31mb?c?");
  CHECK(printable("a\xC2\x9B"
                  "31mb") == "a?31mb");
  CHECK(printable("größe") == "größe");
}

TEST_CASE("a shell reads a quoted argument as it was", "[format]") {
  CHECK(shell_quoted("photos/train-0.tar") == "photos/train-0.tar");
  CHECK(shell_quoted("my photos") == "'my photos'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("") == "''");
}

TEST_CASE("text is wrapped between words", "[format]") {
  CHECK(wrap("", 10).empty());
  CHECK(wrap("one two", 7) == "one two");
  CHECK(wrap("one two", 6) == "one\ntwo");
  CHECK(wrap("one  two three", 9, 2) == "one two\n  three");
  CHECK(wrap("one  two three", 8, 2) == "one\n  two\n  three");
  CHECK(wrap("größe größe größe", 11) == "größe größe\ngröße");
  CHECK(wrap("a unbreakable b", 5, 3) == "a\n   unbreakable\n   b");
}

TEST_CASE("columns count code points, not bytes", "[format]") {
  CHECK(text_width("größe") == 5);
  CHECK(clip("größenordnung", 6) == "größe…");
  CHECK(clip("größe", 5) == "größe");
  CHECK(clip("größe", 0).empty());
  CHECK(pad_right("ö", 3) == "ö  ");
  CHECK(pad_left("ö", 3) == "  ö");
}
