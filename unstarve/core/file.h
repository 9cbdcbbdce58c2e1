#pragma once
// Whole files: read, map, and write atomically.
//
// Failure: Error(kIo) with operation, path and reason.
// Threads: the free functions may be called concurrently; a MappedFile is read-only.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace unstarve {

// The whole file as text.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path);

// What survives a loss of power. A process that is killed leaves the old file or the new one with either.
enum class Durability {
  kSynced,   // the complete file
  kRenamed,  // possibly a truncated or empty file: for files with a checksum that can be rebuilt; syncing may take 1 s
};

// Writes `<path>.partial-<pid>-<n>` in the same folder, syncs it, then renames it to `path`. On failure (disk full, no
// permission) the partial file is removed and the file at `path` is unchanged. Symbolic links are followed; devices and
// pipes (/dev/stdout, /dev/null) are written directly.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents,
                           Durability durability = Durability::kSynced);
// The same for contents in several parts, one after the other.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::span<const std::uint8_t>> parts,
                           Durability durability = Durability::kSynced);

// A read-only memory map of a regular file; an empty file maps to an empty span. Movable. If the file is shortened
// while it is mapped, the lost part reads as zeros and check_map() (map_guard.h) reports it.
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
