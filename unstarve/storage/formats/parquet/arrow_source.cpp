#include "unstarve/storage/formats/parquet/arrow_source.h"

#include <arrow/result.h>
#include <arrow/status.h>

#include "unstarve/core/error.h"

namespace unstarve {

void SourceFile::fetch(std::span<const Chunk> chunks) {
  if (!mapped_.empty()) return;
  std::vector<ReadRange> ranges;
  for (const Chunk& chunk : chunks) {
    auto buffer = arrow::AllocateBuffer(static_cast<std::int64_t>(chunk.bytes));
    if (!buffer.ok()) throw Error(ErrorKind::kMemory, buffer.status().ToString());
    fetched_.emplace_back(chunk, *std::move(buffer));
    ranges.push_back({part_.offset + chunk.offset, {fetched_.back().second->mutable_data(), chunk.bytes}});
  }
  source_.read_many(ranges);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> SourceFile::ReadAt(std::int64_t position, std::int64_t length) {
  if (!within(position, length)) return arrow::Status::Invalid("a chunk exceeds the end of the data");
  const auto offset = static_cast<std::uint64_t>(position), bytes = static_cast<std::uint64_t>(length);
  if (!mapped_.empty()) return std::make_shared<arrow::Buffer>(mapped_.data() + offset, length);
  for (const auto& [chunk, buffer] : fetched_) {
    if (offset >= chunk.offset && offset - chunk.offset <= chunk.bytes &&
        bytes <= chunk.bytes - (offset - chunk.offset)) {
      return arrow::SliceBuffer(buffer, static_cast<std::int64_t>(offset - chunk.offset), length);
    }
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(length));
  ARROW_ASSIGN_OR_RAISE(const std::int64_t done, ReadAt(position, length, buffer->mutable_data()));
  (void)done;
  return buffer;
}

arrow::Result<std::int64_t> SourceFile::ReadAt(std::int64_t position, std::int64_t length, void* out) {
  if (!within(position, length)) return arrow::Status::Invalid("a chunk exceeds the end of the data");
  try {
    source_.read(part_.offset + static_cast<std::uint64_t>(position),
                 {static_cast<std::uint8_t*>(out), static_cast<std::size_t>(length)});
  } catch (const Error& error) {
    failure_ = std::current_exception();
    return arrow::Status::IOError(error.what());
  }
  return length;
}

arrow::Result<std::int64_t> SourceFile::Read(std::int64_t length, void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t done, ReadAt(position_, length, out));
  position_ += done;
  return done;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> SourceFile::Read(std::int64_t length) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, length));
  position_ += length;
  return buffer;
}

bool SourceFile::within(std::int64_t position, std::int64_t length) const {
  return position >= 0 && length >= 0 && static_cast<std::uint64_t>(position) <= part_.bytes &&
         static_cast<std::uint64_t>(length) <= part_.bytes - static_cast<std::uint64_t>(position);
}

}  // namespace unstarve
