#include "unstarve/observe/kernel_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace unstarve::kernel {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  const auto last = text.find_last_not_of(std::string_view(" \t\n\0", 4));
  return std::string(text.substr(first, last - first + 1));
}

std::string first_line(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  return trimmed(std::string_view(text).substr(0, text.find('\n')));
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

std::uint64_t parse_bytes(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return 0;
  const std::string unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  if (unit.empty()) return value;
  switch (unit[0]) {
    case 'k':
    case 'K': return value << 10;
    case 'm':
    case 'M': return value << 20;
    case 'g':
    case 'G': return value << 30;
    default: return value;
  }
}

std::vector<int> parse_list(std::string_view text) {
  constexpr int kMost = 1 << 20;  // no machine has a million CPUs or nodes
  std::vector<int> all;
  const std::string list = trimmed(text);
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    int first = 0, last = 0;
    auto [stop, error] = std::from_chars(at, end, first);
    if (error != std::errc{} || first < 0) return {};
    last = first;
    if (stop != end && *stop == '-') {
      const auto [close, problem] = std::from_chars(stop + 1, end, last);
      if (problem != std::errc{}) return {};
      stop = close;
    }
    if (last < first || last > kMost) return {};
    for (int number = first; number <= last; ++number) all.push_back(number);
    if (stop != end && *stop != ',') return {};
    at = stop == end ? end : stop + 1;
  }
  std::ranges::sort(all);
  return all;
}

Keys parse_keys(const std::string& text, char separator) {
  Keys all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const auto at = line.find(separator);
    if (at == std::string::npos) continue;
    all.try_emplace(trimmed(std::string_view(line).substr(0, at)), trimmed(std::string_view(line).substr(at + 1)));
  }
  return all;
}

std::string value_of(const Keys& keys, const std::string& key) {
  const auto found = keys.find(key);
  return found == keys.end() ? std::string() : found->second;
}

}  // namespace unstarve::kernel
