#pragma once
// A file that gets its final name whole, or never: written under another name in a working folder, synced, renamed.
//
//   work/train-00000.tar.partial ── write(), write(), ... ── publish() ──▶ folder/train-00000.tar
//
// Of a file with one writer, what a killed run left under the partial name is overwritten by the next one; it is
// locked, so that two processes never write into the same. Of a file that several may write, each has a partial file
// with a name of its own, and the last one published stands.
//
// Threads:   one at a time; publish() may come from another thread than write().
// Failure:   Error(kIo) with the final path and the reason (disk full, quota, read-only; the working folder is gone);
//            the partial file is removed then. Error(kArgument) when another process is writing it, with Writers::kOne.
// Cost:      1 MiB of buffer, one checksum by instruction; the kernel is asked to begin writing every 8 MiB, so that
//            publish() has little left to wait for.

#include <cstdint>
#include <filesystem>
#include <string>

#include "unstarve/core/aligned.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/pack/pack_manifest.h"
#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

class PackFile final : public ByteSink {
 public:
  enum class Writers { kOne, kMany };

  // `final_path` and `work` are on one file system.
  PackFile(std::filesystem::path final_path, const std::filesystem::path& work, Writers writers);
  ~PackFile() override;
  PackFile(const PackFile&) = delete;
  PackFile& operator=(const PackFile&) = delete;

  using ByteSink::write;
  void write(std::span<const std::uint8_t> bytes) override;
  [[nodiscard]] std::uint64_t position() const noexcept override { return bytes_; }

  // Name, length and checksum of all that was written.
  [[nodiscard]] FileSum sum() const;
  // On the disk under its final name when this returns.
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
  std::uint64_t begun_ = 0;  // the kernel was asked to write up to here
  std::uint32_t crc_ = 0;
  bool published_ = false;
};

// What sum() of a file called `name` with these bytes gives.
[[nodiscard]] FileSum sum_of(const std::string& name, std::string_view text);

// A text in one go.
void publish_text(const std::filesystem::path& final_path, const std::filesystem::path& work, std::string_view text);

}  // namespace unstarve
