#pragma once
// What a format of records in shards (TFRecord, tar, RecordIO, MDS, ...) has to say; all the rest, from the index to
// random access, is RecordFiles' (record_files.h).
//
//   shard ── scan(), once ──▶ RecordSink ──▶ index beside the data ──▶ RecordFiles::read(id)
//                                                                        └─ fill(): stored bytes ──▶ image
//
// Threads: a RecordFormat is const and used by several threads at once; one scan() has its own sink.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/index_sidecar.h"

namespace unstarve {

// Class numbers are below this: a larger one is no class number but something else that was taken for a label.
inline constexpr std::int64_t kMaxClasses = std::int64_t{1} << 20;

// A record as scan() found it. Its bytes [offset, offset + length) of the (decompressed) shard are what fill() is
// given.
struct ScannedRecord {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::optional<std::int64_t> label{};      // class number; nothing for none, or where only the name is known
  std::string_view label_name{};            // class name; empty for none
  std::string_view member{};                // name of the record, for messages and keys; empty where records have none
  std::span<const std::uint8_t> encoded{};  // the encoded image, if it is at hand: its header tells the size
  Size size{};                              // of pixels that are not encoded; else 0 x 0
};

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // In the order of the shard. A label outside of [0, kMaxClasses) makes the record a damaged one.
  virtual void add(const ScannedRecord& record) = 0;
  // A record, or a run of bytes where one or more records were, that cannot be read. It gets an id, so that it is
  // counted and named: reading it throws Error(kInput) with `reason`, its neighbours read on.
  virtual void add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view reason) = 0;
};

class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // "tfrecord"
  [[nodiscard]] virtual std::string name() const = 0;
  // What an index made by scan() depends on: a number that is raised when scan() changes. Another makes it stale.
  [[nodiscard]] virtual int scan_version() const = 0;
  // Options that change what scan() finds, as text; "" for the defaults. Each keeps indexes of its own.
  [[nodiscard]] virtual std::string variant() const { return ""; }
  // Columns that neither scan() nor fill() looks at, where a schema names them.
  [[nodiscard]] virtual std::vector<std::string> unread_fields() const { return {}; }
  // What fill() puts into the first value.
  [[nodiscard]] virtual FieldKind image_kind() const { return FieldKind::kEncodedImage; }

  // One pass over one shard. Damage goes to the sink. An Error(kInput) that is thrown (by the bytes, where a compressed
  // stream is damaged) becomes one damaged record that stands for the rest of the shard.
  virtual void scan(ForwardBytes& bytes, RecordSink& sink) const = 0;

  // Whether the first bytes of a shard (up to 4096) are this format's as they stand: asked before they are taken for a
  // compressed stream. Needed only by formats whose first bytes may look like one.
  [[nodiscard]] virtual bool begins_plain(std::span<const std::uint8_t> front) const {
    (void)front;
    return false;
  }

  // Sets `image` from the stored bytes, which stay valid as long as `image` is used. Throws Error(kInput) when the
  // record is damaged; the message needs no place, the caller puts it in front. `room` is the caller's memory for what
  // does not lie in one piece; `stored` lies at its beginning where the shard is not mapped.
  virtual void fill(std::span<const std::uint8_t> stored, const IndexRecord& entry, AlignedBytes& room,
                    Value& image) const = 0;
};

}  // namespace unstarve
