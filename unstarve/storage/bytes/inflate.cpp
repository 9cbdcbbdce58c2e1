// Seek points as bytes, all numbers little-endian:
//
//   0   bytes of output                      u64
//   8   number of points                     u64
//   16  points, 40 bytes each, ascending:
//         out u64 | in u64 | offset of its window from the end of this table u64 |
//         bytes of the window u32 | bits u32 | CRC-32 of the window u32 | CRC-32 of the 36 bytes before u32
//   ..  windows
//
// Points of a Zstandard stream are starts of frames: bits is 0, the window is empty.
#include "unstarve/storage/bytes/inflate.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "unstarve/core/cancel.h"
#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/decoder_cache.h"
#include "unstarve/storage/bytes/inflater.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/bytes/zstd_decoder.h"

namespace unstarve {
namespace {

constexpr std::size_t kPointsHeader = 16;
constexpr std::size_t kPointBytes = 40;
constexpr std::size_t kForwardStep = std::size_t{256} << 10;

class Forward final : public InflatingForward {
 public:
  Forward(const ByteSource& source, Compression compression)
      : source_(source), decoder_(make_stream_decoder(source, compression)) {}

  std::span<const std::uint8_t> at(std::uint64_t offset, std::size_t length) override {
    throw_if_cancelled();
    if (offset < begin_) throw internal_error("inflate {}: a scan went backwards", name());
    drop_before(offset);
    while (held_ < length && grow()) {
    }
    if (held_ < length && failure_) throw *failure_;
    return std::span<const std::uint8_t>(buffer_).subspan(start_, std::min(length, held_));
  }

  const std::string& name() const noexcept override { return source_.name(); }

  std::string take_points() override {
    std::string bytes;
    append_little(bytes, decoder_->position());
    append_little(bytes, points_);
    bytes += table_;
    bytes += windows_;
    return bytes;
  }

 private:
  void drop_before(std::uint64_t offset) {
    while (begin_ + held_ < offset) {
      begin_ += held_;
      start_ = held_ = 0;
      if (!grow()) {
        if (failure_) throw *failure_;
        begin_ = offset;  // beyond the end
        return;
      }
    }
    start_ += offset - begin_;
    held_ -= offset - begin_;
    begin_ = offset;
  }

  // Appends one more step of output; false at the end or at damage, which is reported when bytes after it are needed.
  bool grow() {
    if (decoder_->at_end() || failure_) return false;
    if (start_ > 0 && start_ >= held_) {
      std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(start_), held_, buffer_.begin());
      start_ = 0;
    }
    const std::size_t end = start_ + held_;
    if (buffer_.size() < end + kForwardStep) buffer_.resize(std::max(end + kForwardStep, buffer_.size() * 3 / 2));
    const std::uint64_t before = decoder_->position();
    try {
      decoder_->produce(std::span(buffer_).subspan(end, kForwardStep), true);
      if (decoder_->at_seek_point() && !decoder_->at_end() && decoder_->position() - last_point_ >= kSeekPointSpacing) {
        add_point(decoder_->seek_point());
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      failure_ = error;
    }
    held_ += decoder_->position() - before;
    return true;
  }

  void add_point(const SeekPoint& point) {
    last_point_ = point.out;
    ++points_;
    std::string entry;
    append_little(entry, point.out);
    append_little(entry, point.in);
    append_little(entry, static_cast<std::uint64_t>(windows_.size()));
    append_little(entry, static_cast<std::uint32_t>(point.window.size()));
    append_little(entry, point.bits);
    append_little(entry, crc32(point.window));
    append_little(entry, crc32(as_bytes(entry)));
    table_ += entry;
    windows_.append(point.window.begin(), point.window.end());
  }

  const ByteSource& source_;
  std::unique_ptr<StreamDecoder> decoder_;
  std::vector<std::uint8_t> buffer_;
  std::size_t start_ = 0;  // in buffer_, of the held output
  std::size_t held_ = 0;
  std::uint64_t begin_ = 0;  // offset of the held output
  std::optional<Error> failure_;
  std::uint64_t last_point_ = 0;
  std::uint64_t points_ = 0;
  std::string table_;
  std::string windows_;
};

class InflatedBytes final : public ByteSource {
 public:
  InflatedBytes(std::shared_ptr<const ByteSource> source, Compression compression, std::span<const std::uint8_t> points)
      : source_(std::move(source)), compression_(compression) {
    if (points.size() < kPointsHeader)
      damaged(fmt::format("is truncated: {} bytes; expected a header of {}", points.size(), kPointsHeader));
    size_ = load_little<std::uint64_t>(points.data());
    const std::uint64_t count = load_little<std::uint64_t>(points.data() + 8);
    if (count > (points.size() - kPointsHeader) / kPointBytes) damaged("is shorter than its table");
    table_ = points.subspan(kPointsHeader, count * kPointBytes);
    windows_ = points.subspan(kPointsHeader + table_.size());
  }

  ~InflatedBytes() override { DecoderCache::of_process().drop(this); }

  const std::string& name() const noexcept override { return source_->name(); }
  std::uint64_t size() const noexcept override { return size_; }
  SourceStamp stamp() const noexcept override { return source_->stamp(); }

  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    check_range(*this, offset, out.size());
    const std::uint64_t points = points_until(offset);
    // Reads of one frame run one after another: the second continues where the first stopped, and decodes nothing
    // Reads of one frame run one after another: twice.
    std::unique_lock<std::mutex> turn;
    if (compression_ == Compression::kZstd) turn = std::unique_lock(turns_[points % turns_.size()]);
    std::unique_ptr<StreamDecoder> decoder =
        DecoderCache::of_process().take(this, points == 0 ? 0 : out_of(points - 1), offset);
    if (!decoder) decoder = decoder_at(points, offset);
    if (decoder->read(offset, out) < out.size()) {
      throw input_error("inflate {}: the stream ends at {} bytes of output, its index says {}", name(),
                        decoder->position(), size_);
    }
    DecoderCache::of_process().give(this, std::move(decoder));
  }

  // In the order of the stream, so that one pass serves all ranges in a frame.
  void read_many(std::span<const ReadRange> ranges) const override {
    std::vector<ReadRange> sorted(ranges.begin(), ranges.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
    for (const ReadRange& range : sorted) read(range.offset, range.out);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw input_error("inflate {}: its list of seek points {}. Delete the index to rebuild it", source_->name(), what);
  }

  std::uint64_t out_of(std::uint64_t point) const {
    return load_little<std::uint64_t>(table_.data() + point * kPointBytes);
  }

  // Number of points at or before `offset`.
  std::uint64_t points_until(std::uint64_t offset) const {
    std::uint64_t low = 0, high = table_.size() / kPointBytes;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (out_of(middle) <= offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  SeekPoint point_at(std::uint64_t index) const {
    const auto entry = table_.subspan(index * kPointBytes, kPointBytes);
    if (crc32(entry.first(36)) != load_little<std::uint32_t>(entry.data() + 36)) damaged("is damaged");
    SeekPoint point{load_little<std::uint64_t>(entry.data()),
                    load_little<std::uint64_t>(entry.data() + 8),
                    load_little<std::uint32_t>(entry.data() + 28),
                    {}};
    const std::uint64_t begin = load_little<std::uint64_t>(entry.data() + 16);
    const std::uint32_t length = load_little<std::uint32_t>(entry.data() + 24);
    if (begin > windows_.size() || length > windows_.size() - begin || length > kInflateWindow || point.bits > 7 ||
        point.in > source_->size() || point.in == 0 ||
        (compression_ == Compression::kZstd && (length > 0 || point.bits > 0))) {
      damaged("refers outside of the stream");
    }
    const auto window = windows_.subspan(begin, length);
    if (crc32(window) != load_little<std::uint32_t>(entry.data() + 32)) damaged("is damaged");
    point.window.assign(window.begin(), window.end());
    return point;
  }

  // A new decoder at the last of the `points` points at or before `offset`.
  std::unique_ptr<StreamDecoder> decoder_at(std::uint64_t points, std::uint64_t offset) const {
    if (points == 0) return make_stream_decoder(*source_, compression_);
    const SeekPoint point = point_at(points - 1);
    if (point.out > offset) damaged("is not in order");
    return make_stream_decoder(*source_, compression_, point);
  }

  std::shared_ptr<const ByteSource> source_;
  Compression compression_;
  std::uint64_t size_ = 0;
  std::span<const std::uint8_t> table_;
  std::span<const std::uint8_t> windows_;
  mutable std::array<std::mutex, 16> turns_;  // by point
};

}  // namespace

Compression detect_compression(std::span<const std::uint8_t> head) noexcept {
  if (head.size() >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8) return Compression::kGzip;  // RFC 1952
  // RFC 1950: deflate, a window of at most 32 KiB, no preset dictionary, divisible by 31.
  if (head.size() >= 2 && (head[0] & 15) == 8 && head[0] >> 4 <= 7 && (head[1] & 0x20) == 0 &&
      (head[0] * 256 + head[1]) % 31 == 0) {
    return Compression::kZlib;
  }
  if (begins_as_zstd(head)) return Compression::kZstd;
  return Compression::kNone;
}

namespace {

// gzip and zlib decode any prefix of the input, so the head suffices.
std::optional<std::vector<std::uint8_t>> deflate_head(std::span<const std::uint8_t> head, Compression compression,
                                                      std::size_t limit) {
  std::vector<std::uint8_t> out(limit);
  z_stream stream{};
  if (::inflateInit2(&stream, compression == Compression::kGzip ? 31 : 15) != Z_OK) {
    throw memory_error("inflate: no memory for zlib");
  }
  stream.next_in = const_cast<Bytef*>(head.data());  // zlib does not write to its input
  stream.avail_in = static_cast<uInt>(head.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(limit);
  const int result = ::inflate(&stream, Z_SYNC_FLUSH);
  out.resize(limit - stream.avail_out);
  ::inflateEnd(&stream);
  if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return std::nullopt;
  return out;
}

// Zstandard produces no output before a whole block of up to 128 KiB was read.
std::vector<std::uint8_t> zstd_head(const ByteSource& source, std::size_t limit) {
  std::vector<std::uint8_t> out(limit);
  ZstdDecoder decoder(source);
  try {
    decoder.produce(out);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput || decoder.position() == 0) throw;
  }
  out.resize(static_cast<std::size_t>(decoder.position()));
  return out;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> inflate_head(const ByteSource& source, std::span<const std::uint8_t> head,
                                                      std::size_t limit) {
  const Compression compression = detect_compression(head);
  if (compression == Compression::kNone) return std::nullopt;
  if (compression == Compression::kZstd) return zstd_head(source, limit);
  return deflate_head(head, compression, limit);
}

std::unique_ptr<InflatingForward> inflate_forward(const ByteSource& source, Compression compression) {
  return std::make_unique<Forward>(source, compression);
}

std::shared_ptr<const ByteSource> open_inflated(std::shared_ptr<const ByteSource> source, Compression compression,
                                                std::span<const std::uint8_t> points) {
  return std::make_shared<InflatedBytes>(std::move(source), compression, points);
}

}  // namespace unstarve
