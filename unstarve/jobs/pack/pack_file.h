#pragma once
// A file that gets its final name only when it is complete: written under another name in a work folder, synced,
// renamed.
//
//   work/train-00000.tar.partial ── write(), write(), ... ── publish() ──▶ folder/train-00000.tar
//
// Writers::kOne: a leftover partial file of a killed run is overwritten; a lock excludes a second process.
// Writers::kMany: each writer has its own partial file; the last one published wins.
//
// Threads: one at a time; publish() and write() may be called from different threads.
// Failure: Error(kIo) with the final path and the reason (disk full, quota, read-only, work folder missing); the
//          partial file is removed. Error(kArgument) if another process writes the file (Writers::kOne).
// Cost:    1 MiB of buffer and a CRC-32C. Writeback starts every 8 MiB, so that publish() waits for little.

#include <cstdint>
#include <filesystem>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/jobs/pack/pack_manifest.h"
#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

class PackFile final : public ByteSink {
 public:
  enum class Writers { kOne, kMany };

  // `final_path` and `work` must be on the same file system.
  PackFile(std::filesystem::path final_path, const std::filesystem::path& work, Writers writers);
  ~PackFile() override;
  PackFile(const PackFile&) = delete;
  PackFile& operator=(const PackFile&) = delete;

  using ByteSink::write;
  void write(std::span<const std::uint8_t> bytes) override;
  [[nodiscard]] std::uint64_t position() const noexcept override { return bytes_; }

  // Name, length and checksum of the bytes written so far.
  [[nodiscard]] FileSum sum() const;
  // Syncs the file to disk and renames it to its final name.
  void publish();

 private:
  void open_locked();
  void flush();
  void write_out(std::span<const std::uint8_t> bytes);
  [[nodiscard]] Error failed(const char* operation, int reason) const;

  std::filesystem::path final_;
  std::filesystem::path partial_;
  FileDescriptor file_;
  AlignedBytes buffer_;
  std::size_t buffered_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t begun_ = 0;  // offset up to which writeback was started
  std::uint32_t crc_ = 0;
  bool published_ = false;
};

// The sum() of a file `name` with this content.
[[nodiscard]] FileSum sum_of(const std::string& name, std::string_view text);

// Writes and publishes a text.
void publish_text(const std::filesystem::path& final_path, const std::filesystem::path& work, std::string_view text);

}  // namespace unstarve
