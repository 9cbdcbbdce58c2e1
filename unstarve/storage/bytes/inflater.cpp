#include "unstarve/storage/bytes/inflater.h"

#include <algorithm>
#include <array>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

constexpr std::size_t kStateBytes = std::size_t{40} << 10;   // zlib's, with its window
constexpr std::size_t kMaxStepBytes = std::size_t{1} << 30;  // zlib counts in 32 bits
// zlib's windowBits: 15, minus for raw deflate, plus 16 for gzip (zlib.h, inflateInit2).
constexpr int kRawBits = -15;
constexpr int kZlibBits = 15;
constexpr int kGzipBits = 15 + 16;
constexpr std::size_t kGzipTrailer = 8;  // RFC 1952: CRC-32, length
constexpr std::size_t kZlibTrailer = 4;  // RFC 1950: Adler-32

}  // namespace

Inflater::Inflater(const ByteSource& source, Compression compression)
    : StreamDecoder(0), source_(source), compression_(compression), input_(source, 0) {
  begin(compression == Compression::kGzip ? kGzipBits : kZlibBits);
}

Inflater::Inflater(const ByteSource& source, Compression compression, const SeekPoint& point)
    : StreamDecoder(point.out), source_(source), compression_(compression), input_(source, point.in), raw_(true) {
  std::uint8_t before = 0;
  if (point.bits > 0) source.read(point.in - 1, {&before, 1});
  begin(kRawBits);
  if (point.bits > 0) {
    ::inflatePrime(&stream_, static_cast<int>(point.bits), before >> (8 - point.bits));
  }
  if (!point.window.empty()) {
    ::inflateSetDictionary(&stream_, point.window.data(), static_cast<uInt>(point.window.size()));
  }
}

Inflater::~Inflater() { ::inflateEnd(&stream_); }

void Inflater::begin(int window_bits) {
  if (::inflateInit2(&stream_, window_bits) != Z_OK) {
    throw memory_error("inflate {}: no memory for zlib", source_.name());
  }
}

void Inflater::damaged(const std::string& what) const {
  throw input_error("inflate {}: the compressed stream is damaged near offset {}: {}", source_.name(),
                    input_.position(), what);
}

// Sets zlib's next input; false at the end of the input.
bool Inflater::refill() {
  const std::span<const std::uint8_t> next = input_.next();
  stream_.next_in = const_cast<Bytef*>(next.data());  // zlib does not write to its input
  stream_.avail_in = static_cast<uInt>(std::min(next.size(), kMaxStepBytes));
  return !next.empty();
}

void Inflater::skip_trailer() {
  for (std::size_t left = compression_ == Compression::kGzip ? kGzipTrailer : kZlibTrailer; left > 0;) {
    const std::size_t taken = std::min(left, input_.next().size());
    if (taken == 0) damaged("it ends within its trailer");
    input_.take(taken);
    left -= taken;
  }
}

// After the last block of a member. A gzip file may have several members, and tape drives pad with zeros.
void Inflater::next_member() {
  if (raw_) skip_trailer();
  if (compression_ == Compression::kZlib) {
    ended_ = true;
    return;
  }
  for (auto next = input_.next(); !next.empty() && next.front() == 0; next = input_.next()) {
    input_.take(
        static_cast<std::size_t>(std::find_if(next.begin(), next.end(), [](auto b) { return b != 0; }) - next.begin()));
  }
  if (input_.next().empty()) {
    ended_ = true;
    return;
  }
  raw_ = false;
  if (::inflateReset2(&stream_, kGzipBits) != Z_OK) damaged("zlib cannot begin the next member");
}

std::size_t Inflater::produce(std::span<std::uint8_t> out, bool stop_at_points) {
  std::size_t done = 0;
  while (done < out.size() && !ended_) {
    if (!refill()) damaged("it ends before its last block");
    const std::size_t room = std::min<std::size_t>(out.size() - done, kMaxStepBytes);
    stream_.next_out = out.data() + done;
    stream_.avail_out = static_cast<uInt>(room);
    const Bytef* const from = stream_.next_in;
    const int result = ::inflate(&stream_, stop_at_points ? Z_BLOCK : Z_NO_FLUSH);
    input_.take(static_cast<std::size_t>(stream_.next_in - from));
    const std::size_t got = room - stream_.avail_out;
    done += got;
    out_ += got;
    if (result == Z_STREAM_END) {
      next_member();
    } else if (result == Z_MEM_ERROR) {
      throw memory_error("inflate {}: no memory for zlib", source_.name());
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      damaged(stream_.msg != nullptr ? stream_.msg : fmt::format("zlib error {}", result));
    } else if (stop_at_points && at_seek_point()) {
      return done;
    }
  }
  return done;
}

// zlib.h, inflate(): data_type has 128 set after a block or a header, 64 within the last block.
bool Inflater::at_seek_point() const noexcept {
  return (stream_.data_type & 128) != 0 && (stream_.data_type & 64) == 0;
}

SeekPoint Inflater::seek_point() {
  SeekPoint point{out_, input_.position(), static_cast<std::uint32_t>(stream_.data_type & 7), {}};
  point.window.resize(kInflateWindow);
  uInt length = 0;
  ::inflateGetDictionary(&stream_, point.window.data(), &length);
  point.window.resize(length);
  return point;
}

std::size_t Inflater::memory_bytes() const noexcept { return kStateBytes + input_.memory_bytes(); }

}  // namespace unstarve
