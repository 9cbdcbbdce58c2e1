#pragma once
// Writes shards of records: what a format has to say for `unstarve pack`. One file per format (tfrecord_writer.h, ...)
// and one row of a constant table here.
//
//   OutRecord, OutRecord, ... ── RecordWriter ──▶ ByteSink (a shard: buffered, summed, published whole)
//
// The bytes of a shard are a function of its records alone: no clock, no user, no host is written, so that the same
// records make the same shard everywhere.
//
// Ownership: an OutRecord borrows; append() has taken what it needs when it returns.
// Threads:   a writer and its sink are used by one thread at a time.
// Failure:   Error(kInput) for a record that the format cannot hold, Error(kIo) of the sink. The shard is given up.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/image.h"

namespace unstarve {

// Where a shard's bytes go, front to back.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::uint8_t> bytes) = 0;
  // How many bytes were written.
  [[nodiscard]] virtual std::uint64_t position() const noexcept = 0;

  void write(std::string_view text) { write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }
};

struct OutRecord {
  std::string_view key;                 // where it came from, relative to its source: "cat/1.jpg"
  std::uint64_t number = 0;             // its place among all records of its split
  std::span<const std::uint8_t> image;  // encoded, not empty
  std::string_view encoding;            // "jpeg", "png" or "webp"
  Size size;                            // upright pixels
  std::int64_t label = -1;              // class number; -1 for none
  std::string_view class_name;          // empty where classes have no names
};

class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  virtual void append(const OutRecord& record) = 0;
  // Writes what the format has behind the last record. Called once, last.
  virtual void finish() = 0;
  // What belongs into a file beside the shard; empty for none. Valid after finish().
  [[nodiscard]] virtual std::string index() const { return ""; }
};

// A row of the table of formats.
struct WriterFormat {
  const char* name;             // "tfrecord"
  const char* extension;        // of a shard: ".tfrecord"
  const char* index_extension;  // of the file beside it: ".idx"; "" for none
  // Throws Error(kMissing), with what to install, where the format needs a component that this build does not have.
  // `classes` are the names of all classes, for formats that keep them with the data; the writer borrows `sink`.
  std::unique_ptr<RecordWriter> (*make)(ByteSink& sink, const std::vector<std::string>& classes);
};

}  // namespace unstarve
