#pragma once
// The file of a pixel store, mapped into memory and shared by processes.
//
//   header, one page | one entry of 32 bytes per sample | pixels, each record at a multiple of 64 bytes
//
// A file belongs to one key. A file with another key, version or size is recreated. Processes of one host share it
// through the page cache and atomic entries. A process that opens it alone removes incomplete entries.
//
// Ownership: owns file and map. Threads: any; a PixelFile is shared as const, and entries are atomic.
// Failure:   Error(kIo) from the constructor for a file that cannot be opened, written, locked or as large as the
//            limit, or that another process uses with another key; NoRoom if the disk has no room for the entries.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "unstarve/core/file_descriptor.h"

namespace unstarve {

// In the file, shared by processes: only lock-free atomics.
struct PixelEntry {
  static constexpr std::uint64_t kAbsent = 0, kBeingWritten = 1;
  static constexpr std::uint64_t kFirst = 64;  // other locations: the offset in the pixels + kFirst

  std::atomic<std::uint64_t> location;
  std::int64_t label;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t crc;
  std::uint32_t unused;
};
static_assert(sizeof(PixelEntry) == 32 && std::atomic<std::uint64_t>::is_always_lock_free);

class PixelFile {
 public:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kAlignment = 64;  // of a record of pixels

  struct NoRoom {
    std::string reason;
  };

  // In `path`, or only in memory if it is empty. `limit`: bytes of pixels, whole pages.
  PixelFile(std::filesystem::path path, const std::string& key, std::uint64_t samples, std::uint64_t limit);
  ~PixelFile();
  PixelFile(const PixelFile&) = delete;
  PixelFile& operator=(const PixelFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  // The complete entries when it was opened, if no other process used it then; otherwise 0.
  [[nodiscard]] std::uint64_t complete_at_open() const { return complete_at_open_; }
  [[nodiscard]] PixelEntry& entry(std::uint64_t id) const { return reinterpret_cast<PixelEntry*>(memory_ + kPage)[id]; }
  [[nodiscard]] std::uint64_t used() const;  // bytes of pixels handed out
  // The offset of `bytes` that no other thread or process uses; nothing if they exceed the limit.
  [[nodiscard]] std::optional<std::uint64_t> hand_out(std::uint64_t bytes) const;
  [[nodiscard]] const std::uint8_t* pixels() const { return memory_ + table_bytes_; }
  // Writes at an offset of the pixels. Returns 0 or the errno. Not through the map, where a full disk raises a signal.
  [[nodiscard]] int write(std::uint64_t offset, std::span<const std::uint8_t> bytes) const;

 private:
  void open();
  [[nodiscard]] bool has_key(const std::string& key) const;
  void recreate(const std::string& key);
  void drop_unfinished();

  const std::filesystem::path path_;
  const std::uint64_t samples_;
  const std::uint64_t limit_;
  const std::uint64_t table_bytes_;  // before the pixels
  FileDescriptor file_;
  std::uint8_t* memory_ = nullptr;
  std::uint64_t complete_at_open_ = 0;
};

}  // namespace unstarve
