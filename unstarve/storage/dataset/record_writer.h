#pragma once
// Writes shards of records: the interface that a format implements for `unstarve pack` (table: writer_formats.h).
//
//   OutRecord, OutRecord, ... ── RecordWriter ──▶ ByteSink (a shard: buffered, checksummed, published as a whole)
//
// The bytes of a shard depend on its records only, not on time, user or host: the same records give the same shard.
//
// Ownership: an OutRecord borrows; append() does not use it after it returns.
// Threads:   a writer and its sink are used by one thread at a time.
// Failure:   Error(kInput) for a record that the format cannot store, Error(kIo) of the sink. The shard is discarded.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/image.h"

namespace unstarve {

class RecordFormat;

// Receives the bytes of a shard in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::uint8_t> bytes) = 0;
  // The number of bytes written.
  [[nodiscard]] virtual std::uint64_t position() const noexcept = 0;

  void write(std::string_view text) { write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }
};

// Discards the bytes.
class CountingSink final : public ByteSink {
 public:
  using ByteSink::write;
  void write(std::span<const std::uint8_t> bytes) override { bytes_ += bytes.size(); }
  [[nodiscard]] std::uint64_t position() const noexcept override { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

struct OutRecord {
  std::string_view key;                 // path relative to its source: "cat/1.jpg"
  std::uint64_t number = 0;             // index among all records of its split
  std::span<const std::uint8_t> image;  // encoded, not empty
  std::string_view encoding;            // "jpeg", "png" or "webp"
  Size size;                            // upright pixels
  std::int64_t label = -1;              // class number; -1 for none
  std::string_view class_name;          // empty if classes have no names
};

class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  virtual void append(const OutRecord& record) = 0;
  // Writes what follows the last record. Called once, last.
  virtual void finish() = 0;
  // Contents of a separate index file; empty if the format has none. Valid after finish().
  [[nodiscard]] virtual std::string index() const { return ""; }
};

// A row of the table of formats.
struct WriterFormat {
  const char* name;             // "tfrecord"
  const char* extension;        // of a shard: ".tfrecord"
  const char* index_extension;  // of the index file: ".idx"; "" for none
  // Throws Error(kMissing), with what to install, if the format needs a component that this build lacks. `classes`: the
  // names of all classes, for formats that store them. The writer borrows `sink`.
  std::unique_ptr<RecordWriter> (*make)(ByteSink& sink, const std::vector<std::string>& classes);
  // The format that finds the records of a shard; null if the format has its own dataset class and no index files.
  std::shared_ptr<const RecordFormat> (*reader)();
};

}  // namespace unstarve
