#include "unstarve/storage/index/index_paths.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/index/index_cache.h"
#include "unstarve/storage/index/index_sidecar.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// FNV-1a, 64 bits, in hexadecimal.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) *digit = kDigits[hash & 15];
  return digits;
}

}  // namespace

std::vector<fs::path> index_paths(const std::string& name, const std::string& variant) {
  const std::string ending = variant.empty() ? "" : "." + digest(variant).substr(0, 8);
  std::vector<fs::path> found;
  std::string whole = name;
  if (!is_url(whole)) {
    if (fs::path(whole).has_relative_path()) found.push_back(index_path(whole + ending));
    std::error_code failed;
    const fs::path absolute = fs::absolute(whole, failed);
    if (!failed) whole = absolute.lexically_normal().string();
  }
  if (const std::optional<fs::path> cache = index_cache_folder()) {
    // The digest identifies the data; the end of the name is for readers.
    const std::string last = whole.substr(whole.find_last_of('/') + 1);
    found.push_back(*cache / index_path(digest(whole) + "-" +
                                        last.substr(last.size() - std::min<std::size_t>(last.size(), 100)) + ending));
  }
  return found;
}

SavedIndex save_index(const std::string& name, std::span<const fs::path> paths, std::string_view bytes,
                      Durability durability) {
  SavedIndex saved{{}, "neither XDG_CACHE_HOME nor HOME names a folder for it"};
  for (const fs::path& path : paths) {
    try {
      const bool next_to_data = !is_url(name) && path.parent_path() == fs::path(name).parent_path();
      if (!next_to_data) fs::create_directories(path.parent_path());
      write_file_atomically(path, bytes, durability);
      saved.path = path;
      mark_index_saved(path);
      return saved;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kIo) throw;
      saved.failure = error.what();
    } catch (const fs::filesystem_error& error) {
      saved.failure = error.what();
    }
  }
  return saved;
}

std::string not_saved(const std::string& name, const std::string& failure) {
  return "the index of " + name + " cannot be saved (" + failure + "): it is rebuilt in every run";
}

}  // namespace unstarve
