#pragma once
// A data set: so many records of the same fields, each read in place by its id, in any order, by many threads at once.
//
// Ids are 0 .. size() - 1, stable for the same data. A record's values lie either in the data set's own memory (mapped
// files, generated) or in the caller's RecordBuffer; either way they are valid until the next read into that buffer.
//
// Threads:   read() and everything const may be called by any number of threads, each with its own RecordBuffer.
// Failure:   Error(kIo) when the bytes cannot be read, Error(kInput) when the record is damaged; the message names file
//            and offset or member. Damage that only decoding shows is not looked for here.
// Cost:      read() allocates only while the RecordBuffer is still growing to its largest record.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/aligned.h"
#include "unstarve/core/image.h"
#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

// Larger than any image that the decoders accept (kMaxPixels as raw RGB is 805 MB): a stored length beyond this is
// damaged.
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30;

enum class FieldKind {
  kEncodedImage,  // JPEG, PNG, ...: Value::bytes
  kPixels,        // raw 8-bit RGB: Value::pixels
  kLabel,         // class number: Value::integer
};

struct Field {
  std::string name;  // "image", "label"
  FieldKind kind;
};

struct Value {
  std::span<const std::uint8_t> bytes;
  PixelView pixels;
  std::int64_t integer = 0;
};

// What one read() fills: values in the order of Dataset::fields(), and the memory some of them lie in.
struct RecordBuffer {
  std::vector<Value> values;
  AlignedBytes storage;
};

// For who has used the values: those that lie in a mapped file were the file's (core/map_guard.h), else Error(kIo).
void check_maps(const RecordBuffer& record);

// A file that holds many records, and the id of its first one.
struct DataFile {
  std::string path;  // or URL; as location() shows it, without what may be secret
  std::uint64_t first = 0;
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  // "image folder", "cifar-10 binary", "synthetic", ...
  [[nodiscard]] virtual std::string format() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual const std::vector<Field>& fields() const = 0;
  // Class names in the order of their numbers; empty where the format has none.
  [[nodiscard]] virtual const std::vector<std::string>& classes() const = 0;
  // Bytes of all records as stored, or 0 when learning it would cost a pass over the data.
  [[nodiscard]] virtual std::uint64_t stored_bytes() const = 0;
  // Where record `id` lies. Precondition: id < size(). The same for equal data; a place of its own for each
  // record, unless the data are given twice.
  [[nodiscard]] virtual RecordLocation record_location(std::uint64_t id) const = 0;
  // The same for messages: "photos/cat/1.jpg", "data_batch_1.bin record 17 at offset 52241".
  [[nodiscard]] std::string location(std::uint64_t id) const { return to_string(record_location(id)); }

  // What went wrong so far without failing anything, a line each: indexes that could not be kept.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  // The label of record `id` where an index in memory has it; nothing where the record would have to be read.
  [[nodiscard]] virtual std::optional<std::int64_t> known_label(std::uint64_t id) const {
    (void)id;
    return {};
  }
  // The upright size of record `id`'s image, likewise.
  [[nodiscard]] virtual std::optional<Size> known_size(std::uint64_t id) const {
    (void)id;
    return {};
  }
  // Names of what the records hold besides fields() and read() leaves alone, where a schema tells: other columns.
  [[nodiscard]] virtual std::vector<std::string> unread_fields() const { return {}; }
  // Where the data sets that this one was put together from begin, and size() at the end (concatenated.h).
  [[nodiscard]] virtual std::vector<std::uint64_t> parts() const { return {0, size()}; }

  // The shards, in the order of their records, where the data lie in such; empty where each record is a file, where
  // nothing lies in files, and where a format has no use for it.
  [[nodiscard]] virtual std::vector<DataFile> files() const { return {}; }

  // Precondition: id < size().
  virtual void read(std::uint64_t id, RecordBuffer& record) const = 0;
  // Several at once, for formats that can join or overlap the requests; ids and records are equally long.
  virtual void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const;
  // As read(), and brings the stored bytes that it leaves alone as well, those of other columns and members, to drop
  // them: what a reader does that does not know which are wanted (all_fields.h). Returns how many; 0 where read()
  // brings all there is.
  virtual std::uint64_t read_all(std::uint64_t id, RecordBuffer& record) const {
    read(id, record);
    return 0;
  }

  // A hint that record `id` is read next by this thread. Formats whose records lie in memory, small and one far from
  // the other, return them for the thread to fetch to its cache meanwhile (core/cache_fetch.h); nothing for others,
  // which begin what they can begin. Never fails, never blocks; does nothing unless overridden.
  virtual std::span<const std::uint8_t> prefetch(std::uint64_t id) const noexcept {
    (void)id;
    return {};
  }

  // How many reads at once the place of the data rewards: 0 where reading hardly waits (generated, in memory, in the
  // page cache), some dozens for a disk or a server. Looks at a few records; may take milliseconds.
  [[nodiscard]] virtual int reads_in_flight() const { return 0; }
  // How many it could reward at most when what is read lies nowhere near: reading ahead may then be begun with them
  // while a run is going on. 0: reading never waits (generated, in memory), or waits for what more reads at once would
  // not hasten.
  [[nodiscard]] virtual int most_reads_in_flight() const { return 0; }

  // Index of the first field of `kind`, -1 if none.
  [[nodiscard]] int field_index(FieldKind kind) const;
};

}  // namespace unstarve
