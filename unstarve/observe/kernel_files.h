#pragma once
// Reads the small text files of /proc and /sys.
//
// Failure: none but std::bad_alloc; an unreadable file is empty. Threads: pure, except that files are read.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve::kernel {

// The whole file. Files in /proc and /sys report no size, so it is read as a stream.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);
[[nodiscard]] std::string first_line(const std::filesystem::path& path);
[[nodiscard]] std::string trimmed(std::string_view text);
[[nodiscard]] std::vector<std::string> words(const std::string& text);

// "123", "123 kB", "32768K", "32M"; 0 if it is not a number ("max").
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text);
// The numbers of a list such as "0-3,8,10-11", ascending; empty if the text is not a list.
[[nodiscard]] std::vector<int> parse_list(std::string_view text);

using Keys = std::map<std::string, std::string>;
// Lines of "key<separator>value". The first occurrence of a key counts, e.g. that of the first CPU.
[[nodiscard]] Keys parse_keys(const std::string& text, char separator);
[[nodiscard]] std::string value_of(const Keys& keys, const std::string& key);

}  // namespace unstarve::kernel
