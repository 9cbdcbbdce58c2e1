#pragma once
// Whole files: read one, map one, and write one so that its final name never shows a partial file.
//
// Failure: Error(kIo) with operation, path and reason. Threads: free functions are safe; a MappedFile is read-only.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace unstarve {

// The whole file as text.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path);

// What must survive a loss of power. A process that is killed leaves the old file or the new one with either.
enum class Durability {
  kSynced,   // whoever has seen the new file will find it whole
  kRenamed,  // may be found cut or empty: for what has a checksum and can be made again, as syncing can take a second
};

// Writes `<path>.partial-<pid>-<n>` beside it, syncs, then renames over `path`. On failure (disk full, no permission)
// the partial file is removed and what stood under `path` before is untouched. A link is followed; a device or pipe
// (/dev/stdout, /dev/null) is written to as it is.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents,
                           Durability durability = Durability::kSynced);

// A read-only memory map of a regular file; an empty one maps to an empty span. Movable. What is gone of a file that is
// shortened meanwhile reads as zeros, and check_map() (map_guard.h) tells.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return {data_, size_}; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace unstarve
