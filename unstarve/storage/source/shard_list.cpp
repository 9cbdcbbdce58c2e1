#include "unstarve/storage/source/shard_list.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/source/object_glob.h"

namespace unstarve {
namespace {

constexpr std::string_view kWildcards = "*?[";

// The end of the host or bucket. Precondition: is_url(text).
std::size_t authority_end(const std::string& text) noexcept {
  return std::min(text.find_first_of(is_bucket_url(text) ? "/" : "/?#", text.find("://") + 3), text.size());
}

// Whether `text` has wildcards in a path, in a bucket's name or key, or in the path of an http(s) URL, where '?' begins
// the query and '[' may belong to an address.
bool has_wildcards(const std::string& text) noexcept {
  if (!is_url(text) || is_bucket_url(text)) return text.find_first_of(kWildcards) != std::string::npos;
  const std::size_t begin = authority_end(text);
  return std::string_view(text).substr(begin, text.find_first_of("?#", begin) - begin).find('*') !=
         std::string_view::npos;
}

[[noreturn]] void too_many(const std::string& text) {
  throw argument_error("list {}: its braces expand to more than {} files", shown_name(text), kMaxShards);
}

// The numbers of "000..007"; nothing if `inside` is not a range.
std::optional<std::vector<std::string>> expand_range(std::string_view inside, const std::string& text) {
  const std::size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> first = parse_number<std::uint64_t>(inside.substr(0, dots));
  const std::optional<std::uint64_t> last = parse_number<std::uint64_t>(inside.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  if ((*first < *last ? *last - *first : *first - *last) >= kMaxShards) too_many(text);
  std::vector<std::string> numbers;
  for (std::uint64_t n = *first;; n += *first < *last ? 1 : -1) {
    std::string digits = std::to_string(n);
    if (digits.size() < dots) digits.insert(0, dots - digits.size(), '0');
    numbers.push_back(std::move(digits));
    if (n == *last) return numbers;
  }
}

// The alternatives between the braces: a range, or parts separated by commas outside of inner braces.
std::vector<std::string> alternatives(std::string_view inside, const std::string& text) {
  if (std::optional<std::vector<std::string>> numbers = expand_range(inside, text)) return *std::move(numbers);
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= inside.size(); ++i) {
    if (i == inside.size() || (inside[i] == ',' && depth == 0)) {
      for (std::string& part : expand_braces(std::string(inside.substr(begin, i - begin)))) {
        parts.push_back(std::move(part));
      }
      begin = i + 1;
    } else if (inside[i] == '{') {
      ++depth;
    } else if (inside[i] == '}') {
      --depth;
    }
  }
  return parts;
}

std::size_t matching_brace(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  throw argument_error("list {}: the brace at position {} is not closed; expected {{000..007}} or {{a,b}}",
                       shown_name(text), open);
}

std::vector<std::string> expand_url(const std::string& pattern) {
  if (!is_bucket_url(pattern)) {
    throw argument_error(
        "list {}: an http(s) server lists no files to match '*' with. Write a range such as {{000..007}}, or %2A if it "
        "belongs to the name",
        shown_name(pattern));
  }
  // A backslash escapes the next character, as in file globs.
  const std::size_t wild = pattern.find_first_of("*?[\\");
  if (wild < authority_end(pattern)) {
    throw argument_error("list {}: wildcards are supported in keys, not in the bucket's name", pattern);
  }
  return glob_objects(pattern, {[](const std::string& prefix) { return RemoteStore::of_process().list_level(prefix); },
                                [](const std::string& prefix) { return RemoteStore::of_process().list(prefix); }});
}

std::vector<std::string> expand_glob(const std::string& pattern, const std::string& text) {
  if (is_url(pattern)) {
    std::vector<std::string> urls = expand_url(pattern);
    drop_companions(urls);
    return urls;
  }
  glob_t found{};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &found);
  std::vector<std::string> files;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) {
    const std::string_view file(found.gl_pathv[i]);
    if (file.find(kIndexSuffix) == std::string_view::npos) files.emplace_back(file);
  }
  ::globfree(&found);
  if (result == GLOB_NOSPACE) throw memory_error("list {}: too many files match", text);
  if (result == GLOB_ABORTED) throw io_error("list", text, errno);
  if (files.empty()) throw input_error("list {}: no file matches {}", text, pattern);
  std::sort(files.begin(), files.end());
  drop_companions(files);
  return files;
}

}  // namespace

bool is_pattern(const std::string& text) noexcept { return text.find('{') != std::string::npos || has_wildcards(text); }

void drop_companions(std::vector<std::string>& files) {
  constexpr std::string_view kIndex = ".idx", kManifest = "manifest.json";
  const auto folder_of = [](std::string_view file) { return file.substr(0, file.rfind('/') + 1); };
  std::set<std::string_view> shard_folders;
  for (const std::string& file : files)
    if (!file.ends_with(".json")) shard_folders.insert(folder_of(file));
  const auto is_companion = [&](const std::string& file) {
    const std::string_view stem = std::string_view(file).substr(0, file.size() - std::min(file.size(), kIndex.size()));
    if (file.ends_with(kIndex)) return std::binary_search(files.begin(), files.end(), std::string(stem) + ".rec");
    return file.substr(file.rfind('/') + 1) == kManifest && shard_folders.contains(folder_of(file));
  };
  std::vector<std::string> shards;
  std::copy_if(files.begin(), files.end(), std::back_inserter(shards),
               [&](const auto& file) { return !is_companion(file); });
  files = std::move(shards);
}

std::vector<std::string> expand_braces(const std::string& text) {
  std::vector<std::string> done{""};
  std::size_t at = 0;
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', at)) {
    const std::size_t close = matching_brace(text, open);
    const std::vector<std::string> parts =
        alternatives(std::string_view(text).substr(open + 1, close - open - 1), text);
    if (parts.size() * done.size() > kMaxShards) too_many(text);
    std::vector<std::string> longer;
    for (const std::string& prefix : done) {
      for (const std::string& part : parts) longer.push_back(prefix + text.substr(at, open - at) + part);
    }
    done = std::move(longer);
    at = close + 1;
  }
  for (std::string& prefix : done) prefix += text.substr(at);
  return done;
}

std::vector<std::string> list_shards(const std::string& text) {
  std::error_code failed;
  if (!is_pattern(text) || (!is_url(text) && std::filesystem::exists(text, failed))) return {text};
  std::vector<std::string> shards;
  for (std::string& one : expand_braces(text)) {
    if (!has_wildcards(one)) {
      shards.push_back(std::move(one));
    } else {
      for (std::string& file : expand_glob(one, text)) shards.push_back(std::move(file));
    }
  }
  if (shards.size() > kMaxShards) too_many(text);
  return shards;
}

}  // namespace unstarve
