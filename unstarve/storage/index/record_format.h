#pragma once
// The interface of a format of records in shards (TFRecord, tar, RecordIO, MDS, ...). RecordFiles (record_files.h)
// implements indexes and random access for all formats.
//
//   shard ── scan(), once ──▶ RecordSink ──▶ saved index ──▶ RecordFiles::read(id)
//                                                               └─ fill(): stored bytes ──▶ image
//
// Threads: a RecordFormat is const and may be used concurrently; each scan() has its own sink.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/index_sidecar.h"

namespace unstarve {

// Class numbers are below this; a larger number was read from a wrong field.
inline constexpr std::int64_t kMaxClasses = std::int64_t{1} << 20;

// A record found by scan(). fill() receives its bytes [offset, offset + length) of the decompressed shard.
struct ScannedRecord {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::optional<std::int64_t> label{};      // class number; nothing for none or if only the name is known
  std::string_view label_name{};            // class name; empty for none
  std::string_view member{};                // name of the record, for messages and keys; empty if records have none
  std::span<const std::uint8_t> encoded{};  // the encoded image, if available: its header has the size
  Size size{};                              // of raw pixels; else 0 x 0
  std::string_view no_label{};              // why there is none, for messages; empty if none was requested
  std::string_view label_text{};            // instead of both: a name, unless these texts are numbers in all shards
};

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // In the order of the shard. A label outside of [0, kMaxClasses) makes the record damaged.
  virtual void add(const ScannedRecord& record) = 0;
  // A record, or a range of bytes with one or more records, that cannot be read. It gets an id, so that it is counted
  // and named: reading it throws Error(kInput) with `reason`; other records are unaffected.
  virtual void add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view reason) = 0;
};

class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // "tfrecord"
  [[nodiscard]] virtual std::string name() const = 0;
  // Increase it when scan() changes: an index of another version is stale.
  [[nodiscard]] virtual int scan_version() const = 0;
  // Options that change the result of scan(), as text; "" for the defaults. Each has its own indexes.
  [[nodiscard]] virtual std::string variant() const { return ""; }
  // Dataset::label_choice()
  [[nodiscard]] virtual std::string label_choice() const { return ""; }
  // Whether #classes=names reads all labels as names.
  [[nodiscard]] virtual bool can_read_names() const { return false; }
  // The kind of the value that fill() sets.
  [[nodiscard]] virtual FieldKind image_kind() const { return FieldKind::kEncodedImage; }

  // One pass over one shard. Reports damage to the sink. An Error(kInput) thrown by `bytes`, if a compressed stream is
  // damaged, becomes one damaged record for the rest of the shard.
  virtual void scan(ForwardBytes& bytes, RecordSink& sink) const = 0;

  // Whether the first bytes of a shard (up to 4096) are of this format, uncompressed. Only for formats whose first
  // bytes may look like a compressed stream.
  [[nodiscard]] virtual bool begins_plain(std::span<const std::uint8_t> front) const {
    (void)front;
    return false;
  }

  // Sets `image` from the stored bytes, which stay valid as long as `image` is used. Throws Error(kInput) if the record
  // is damaged; the caller prepends the location to the message. `room` is the caller's memory for images that are not
  // contiguous; if the shard is not mapped, `stored` is at its beginning.
  virtual void fill(std::span<const std::uint8_t> stored, const IndexRecord& entry, AlignedBytes& room,
                    Value& image) const = 0;
};

}  // namespace unstarve
