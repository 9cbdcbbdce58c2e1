#pragma once
// A dataset: N records with the same fields. Any thread reads any record by its id, in any order.
//
// Ids are 0 .. size() - 1, stable for the same data. The values of a record are views of the dataset's memory (mapped
// files, generated samples) or of the caller's RecordBuffer, valid until the next read into that buffer.
//
// Threads:   read() and all const functions may be called concurrently, each thread with its own RecordBuffer.
// Failure:   Error(kInput) if the record is damaged or its file is missing, Error(kIo) if the storage fails; the
//            message names the file and the offset or member. Damage that only a decoder can find is not checked.
// Cost:      read() allocates only until the RecordBuffer has grown to the largest record.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/image.h"
#include "unstarve/core/memory/aligned.h"
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

// The result of read(): values in the order of Dataset::fields(), and memory for values that are copied.
struct RecordBuffer {
  std::vector<Value> values;
  AlignedBytes storage;
};

// Call after using the values. Throws Error(kIo) if a mapped file was truncated meanwhile (core/map_guard.h).
void check_maps(const RecordBuffer& record);

// Whether an error of reading or decoding a record was caused by this record, so that it may be left out. Error(kIo) is
// not: the server, the network or the disk fails, or a file was changed, and other records would be lost as well.
// A record that is too large for memory counts as damaged.
[[nodiscard]] inline bool is_damage(const Error& error) noexcept {
  return error.kind() == ErrorKind::kInput || error.kind() == ErrorKind::kMemory;
}

// A file of many records, and the id of its first record.
struct DataFile {
  std::string path;  // or URL, without credentials, as in location()
  std::uint64_t first = 0;
  std::int64_t changed = 0;  // another number if its content was changed, where this is known without reading it
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

// The index of the last of `begins` that is at most `id`. Precondition: begins are ascending, the first is 0.
[[nodiscard]] inline std::size_t part_of(std::span<const std::uint64_t> begins, std::uint64_t id) noexcept {
  return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), id) - begins.begin()) - 1;
}

class Dataset {
 public:
  virtual ~Dataset() = default;

  // "image folder", "cifar-10 binary", "synthetic", ...
  [[nodiscard]] virtual std::string format() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual const std::vector<Field>& fields() const = 0;
  // Class names by class number; empty if the format has none.
  [[nodiscard]] virtual const std::vector<std::string>& classes() const = 0;
  // Why the records have no label: what the data contains instead, for messages ("the columns path, score"). Empty if
  // they have one, or if none was requested when the data was opened.
  [[nodiscard]] virtual std::string missing_labels() const {
    return field_index(FieldKind::kLabel) < 0 ? "records without labels" : "";
  }
  // What #label=NAME chooses as the label: "column", "member". Empty if the format has one kind of labels.
  [[nodiscard]] virtual std::string label_choice() const { return ""; }
  // Stored bytes of all records; 0 if computing it would require a pass over the data.
  [[nodiscard]] virtual std::uint64_t stored_bytes() const = 0;
  // Equal for equal data, and different for each record unless the same data is given twice.
  // Precondition: id < size().
  [[nodiscard]] virtual RecordLocation record_location(std::uint64_t id) const = 0;
  // Whether the locations identify the records in later runs; false for objects of a program.
  [[nodiscard]] virtual bool known_by_path() const { return true; }
  // As text for messages: "photos/cat/1.jpg", "data_batch_1.bin record 17 at offset 52241".
  [[nodiscard]] std::string location(std::uint64_t id) const { return to_string(record_location(id)); }

  // Problems so far that did not cause a failure, one line each: indexes that could not be saved.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  // The label of record `id` if an index in memory has it; nothing if the record would have to be read.
  [[nodiscard]] virtual std::optional<std::int64_t> known_label(std::uint64_t id) const {
    (void)id;
    return {};
  }
  // The upright image size of record `id` if an index in memory has it.
  [[nodiscard]] virtual std::optional<Size> known_size(std::uint64_t id) const {
    (void)id;
    return {};
  }
  // The first id of each dataset that this one concatenates, then size() (concatenated.h).
  [[nodiscard]] virtual std::vector<std::uint64_t> parts() const { return {0, size()}; }

  // The shards in record order; empty if each record is a file, if there are no files, or if the format does not
  // provide the list.
  [[nodiscard]] virtual std::vector<DataFile> files() const { return {}; }

  // Precondition: id < size().
  virtual void read(std::uint64_t id, RecordBuffer& record) const = 0;
  // Reads several records, for formats that can merge or overlap requests. `ids` and `records` have equal lengths.
  virtual void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const;
  // A hint that this thread reads record `id` next. Formats with small records in memory return the record's bytes, for
  // the thread to fetch into its CPU cache (core/memory/cache_fetch.h). Other formats may start to read and return
  // nothing. Never fails or blocks.
  virtual std::span<const std::uint8_t> prefetch(std::uint64_t id) const noexcept {
    (void)id;
    return {};
  }

  // The useful number of concurrent reads: 0 if reads hardly wait (generated, in memory, in the page cache), some
  // dozens for a disk or a server. Samples a few records; may take milliseconds.
  [[nodiscard]] virtual int reads_in_flight() const { return 0; }
  // The useful number of concurrent reads if nothing is cached, so that read-ahead may start during a run. 0 if reads
  // never wait, or if more concurrent reads would not help.
  [[nodiscard]] virtual int most_reads_in_flight() const { return 0; }

  // Index of the first field of `kind`; -1 if there is none.
  [[nodiscard]] int field_index(FieldKind kind) const;
};

}  // namespace unstarve
