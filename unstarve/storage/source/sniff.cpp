#include "unstarve/storage/source/sniff.h"

#include <algorithm>

#include "unstarve/core/error.h"

namespace unstarve {

std::vector<std::uint8_t> content_front(const ByteSource& file) {
  std::vector<std::uint8_t> front(static_cast<std::size_t>(std::min<std::uint64_t>(kHeadBytes, file.size())));
  file.read(0, front);
  return inflate_head(file, front, kHeadBytes).value_or(front);
}

bool identifies_format(std::span<const std::uint8_t> content) noexcept {
  return std::any_of(content.begin(), content.end(), [](std::uint8_t byte) { return byte != 0; });
}

bool folder_begins(const Source& source, bool (*is_shard)(std::string_view name),
                   bool (*is_content)(std::span<const std::uint8_t> front)) {
  if (!source.folder) return false;
  const auto& files = source.listing.files;
  try {
    for (const std::string& file : files) {
      if (!is_shard(file)) continue;
      const std::vector<std::uint8_t> front = content_front(*open_bytes(source.path + "/" + file));
      if (identifies_format(front)) return is_content(front);
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    return error.kind() == ErrorKind::kIo || error.kind() == ErrorKind::kInput;
  }
  return false;
}

bool ends_in(std::string_view name, std::string_view ending) noexcept {
  if (name.size() < ending.size()) return false;
  return std::equal(ending.begin(), ending.end(), name.end() - static_cast<std::ptrdiff_t>(ending.size()),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b); });
}

}  // namespace unstarve
