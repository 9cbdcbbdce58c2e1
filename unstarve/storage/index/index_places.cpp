#include "unstarve/storage/index/index_places.h"

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

// FNV-1a, 64 bits, in hexadecimal: tells names apart.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) *digit = kDigits[hash & 15];
  return digits;
}

}  // namespace

std::vector<fs::path> index_places(const std::string& name, const std::string& variant) {
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
    // The digest tells data apart, the end of the name is for people.
    const std::string last = whole.substr(whole.find_last_of('/') + 1);
    found.push_back(*cache / index_path(digest(whole) + "-" +
                                        last.substr(last.size() - std::min<std::size_t>(last.size(), 100)) + ending));
  }
  return found;
}

IndexKeeping keep_index(const std::string& name, std::span<const fs::path> places, std::string_view bytes,
                        Durability durability) {
  IndexKeeping keeping{{}, "neither XDG_CACHE_HOME nor HOME tells a folder for it"};
  for (const fs::path& place : places) {
    try {
      const bool beside = !is_url(name) && place.parent_path() == fs::path(name).parent_path();
      if (!beside) fs::create_directories(place.parent_path());
      write_file_atomically(place, bytes, durability);
      keeping.place = place;
      index_is_kept(place);
      return keeping;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kIo) throw;
      keeping.failed = error.what();
    } catch (const fs::filesystem_error& error) {
      keeping.failed = error.what();
    }
  }
  return keeping;
}

std::string not_kept(const std::string& name, const std::string& failed) {
  return "the index of " + name + " cannot be kept (" + failed + "): it is made again in every run";
}

}  // namespace unstarve
