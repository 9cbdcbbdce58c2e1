#pragma once
// Adapts a ByteSource to Arrow's RandomAccessFile. Includes Arrow headers, so only arrow_*.cpp include it.
//
// The file is the whole source, or a part of it. Reads return a slice of the map if there is one, otherwise exactly the
// requested bytes. Chunks passed to fetch() are read together and then served from memory.
// Ownership: borrows the source. Threads: one at a time.
// Failure:   an Error of the source is stored in failure() and returned to Arrow as IOError.

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

struct Chunk {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

class SourceFile final : public arrow::io::RandomAccessFile {
 public:
  explicit SourceFile(const ByteSource& source) : SourceFile(source, {0, source.size()}) {}
  // Precondition: `part` is in the source.
  SourceFile(const ByteSource& source, const Chunk& part) : source_(source), part_(part) {
    if (!source.mapped().empty()) mapped_ = source.mapped().subspan(part.offset, part.bytes);
  }

  // Throws Error(kMemory), or the source's Error.
  void fetch(std::span<const Chunk> chunks);
  // The exception of a failed read; null if none failed.
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t length) override;
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t length, void* out) override;
  arrow::Result<std::int64_t> GetSize() override { return static_cast<std::int64_t>(part_.bytes); }

  // The interface requires a file position, which ReadAt() does not use.
  arrow::Result<std::int64_t> Read(std::int64_t length, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t length) override;
  arrow::Status Seek(std::int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }

 private:
  [[nodiscard]] bool within(std::int64_t position, std::int64_t length) const;

  const ByteSource& source_;
  Chunk part_;
  std::span<const std::uint8_t> mapped_;
  std::vector<std::pair<Chunk, std::shared_ptr<arrow::Buffer>>> fetched_;
  std::exception_ptr failure_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace unstarve
