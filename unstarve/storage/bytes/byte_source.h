#pragma once
// A file or object as an array of bytes that is read by exact ranges. All record formats read from a ByteSource, so
// they need not distinguish local and remote data.
//
//   path or URL ── open_bytes() ──▶ ByteSource ──▶ TFRecord, tar, RecordIO, MDS, Parquet, ... ──▶ Dataset
//
// Threads:   all functions are const and may be called concurrently.
// Failure:   Error(kIo) with the name, offset and reason: missing, unreadable, truncated since it was opened,
//            connection lost after all retries. A range beyond size() is Error(kArgument): formats check their lengths
//            first and report a wrong length as Error(kInput).
// Cost:      a local file is mapped (local_bytes.h); of a remote object only the requested ranges are fetched.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace unstarve {

// The decoders' vector code may read this far past the last byte of a record, mapped or in a buffer.
inline constexpr std::size_t kReadableAfter = 64;

// Identifies the version of a source: an index is valid only for an equal stamp.
struct SourceStamp {
  std::uint64_t bytes = 0;
  // Local file: last change, ns since 1970. Remote object: a hash of its ETag or, without one, of Last-Modified.
  std::int64_t changed_ns = 0;
  friend bool operator==(const SourceStamp&, const SourceStamp&) = default;
};

// A request to copy bytes [offset, offset + out.size()) of the source to `out`.
struct ReadRange {
  std::uint64_t offset = 0;
  std::span<std::uint8_t> out;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // The path or URL as given, without credentials, for messages.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  [[nodiscard]] virtual SourceStamp stamp() const noexcept = 0;

  // Fills `out` or throws.
  virtual void read(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;
  // Reads several ranges, concurrently if the source is remote. Fills all or throws.
  virtual void read_many(std::span<const ReadRange> ranges) const;

  // A hint that a range is read soon: for mapped sources the disk starts to read it. Never fails, never waits for the
  // disk. Precondition: the range is within the source.
  virtual void prefetch(std::uint64_t offset, std::size_t length) const noexcept;

  // All bytes of a mapped source, so that formats return records without copying; empty for other sources, which only
  // read() can read. At least kReadableAfter bytes after the end may be read, but not used. If the file is truncated,
  // the lost pages read as zeros: call check_map() (core/map_guard.h) before trusting a result.
  [[nodiscard]] virtual std::span<const std::uint8_t> mapped() const noexcept { return {}; }
};

// The first bytes of a source as text, at most `max_bytes`.
[[nodiscard]] std::string read_text(const ByteSource& source, std::uint64_t max_bytes);

// Throws Error(kArgument) unless [offset, offset + length) is within `source`. For implementations of read().
void check_range(const ByteSource& source, std::uint64_t offset, std::size_t length);

// Whether `text` is a URL that open_bytes() supports: http, https, s3, gs, az.
[[nodiscard]] bool is_url(std::string_view text) noexcept;
// Whether it names a bucket, or an object in one: s3, gs, az.
[[nodiscard]] bool is_bucket_url(std::string_view text) noexcept;
// Whether `text` begins as a URL of any scheme does: "ftp://...".
[[nodiscard]] bool has_scheme(std::string_view text) noexcept;

// The name for messages and outputs: an http(s) URL without user part and query, which may be secret; any other path
// unchanged.
[[nodiscard]] std::string shown_name(const std::string& path_or_url);

}  // namespace unstarve
