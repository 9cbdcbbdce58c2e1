#pragma once
// A file or object as a run of bytes that is read by exact ranges: what every record format reads from, so that each
// works near and far without knowing which.
//
//   path or URL ── open_bytes() ──▶ ByteSource ──▶ TFRecord, tar, RecordIO, MDS, Parquet, ... ──▶ Dataset
//
// Threads:   everything is const and may be called by any number of threads.
// Failure:   Error(kIo) with the name, offset and reason: missing, unreadable, shorter than it was when opened (the
//            file was truncated meanwhile), connection lost after all retries. A range beyond size() is
//            Error(kArgument): formats check their lengths first, since a length that lies is their Error(kInput).
// Cost:      a local file is mapped (local_bytes.h); of a remote object nothing is fetched that was not asked for.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace unstarve {

// Vector code of the decoders may read this far past the last byte of a record, mapped or in a buffer.
inline constexpr std::size_t kReadableBehind = 64;

// What tells that a source is still the one that was indexed.
struct SourceStamp {
  std::uint64_t bytes = 0;
  // A local file's last change, ns since 1970; of a remote object a hash of its ETag, or of Last-Modified without one.
  std::int64_t changed_ns = 0;
  friend bool operator==(const SourceStamp&, const SourceStamp&) = default;
};

// Bytes [offset, offset + out.size()) of the source, to `out`.
struct ReadRange {
  std::uint64_t offset = 0;
  std::span<std::uint8_t> out;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // The path or URL as it was given (without credentials), for messages.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  [[nodiscard]] virtual SourceStamp stamp() const noexcept = 0;

  // Fills `out` or throws.
  virtual void read(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;
  // Several ranges at once; a remote source has many in flight. Fills all or throws. One by one unless overridden.
  virtual void read_many(std::span<const ReadRange> ranges) const;

  // A hint that a range is read soon, for mapped sources: the disk starts to bring it. Never fails, never waits for the
  // disk. Precondition: the range lies within the source.
  virtual void prefetch(std::uint64_t offset, std::size_t length) const noexcept;

  // All of the source in memory where it is mapped, for formats that can then hand out records without copying; empty
  // where it is not (remote), and then read() is the only way. At least kReadableBehind bytes behind its end may be
  // read (not used). Pages of a file that was cut meanwhile read as zeros: who used bytes of the map asks check_map()
  // (core/map_guard.h) before what came of them is believed.
  [[nodiscard]] virtual std::span<const std::uint8_t> mapped() const noexcept { return {}; }
};

// Throws Error(kArgument) when [offset, offset + length) does not lie within `source`: for implementations of read().
void check_range(const ByteSource& source, std::uint64_t offset, std::size_t length);

// Whether `text` is a URL of a scheme that open_bytes() hands to the remote sources: http, https, s3, gs.
[[nodiscard]] bool is_url(std::string_view text) noexcept;
// Whether `text` begins as a URL of any scheme does: "ftp://...".
[[nodiscard]] bool has_scheme(std::string_view text) noexcept;

// What may stand in messages and outputs: an http(s) URL without its user part and its query, which may be secret; any
// other path as it is.
[[nodiscard]] std::string shown_name(const std::string& path_or_url);

}  // namespace unstarve
