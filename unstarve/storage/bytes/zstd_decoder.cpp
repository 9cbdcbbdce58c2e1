#include "unstarve/storage/bytes/zstd_decoder.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"

namespace unstarve {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kSkippableHead = 8;  // magic, length (RFC 8878, 3.1.2)
// The first request: the shortest header of a frame (zstd.h, ZSTD_initDStream).
constexpr std::size_t kShortestHeader = 5;
// One step of the history: a block has at most this much output.
constexpr std::size_t kHistoryStep = std::size_t{128} << 10;

std::uint32_t magic_of(std::span<const std::uint8_t> head) noexcept { return load_little<std::uint32_t>(head.data()); }
bool is_skippable(std::uint32_t magic) noexcept {
  return (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

}  // namespace

bool begins_as_zstd(std::span<const std::uint8_t> head) noexcept {
  while (head.size() >= kSkippableHead && is_skippable(magic_of(head))) {
    const std::uint64_t length = kSkippableHead + std::uint64_t{load_little<std::uint32_t>(head.data() + kMagicBytes)};
    if (length > head.size()) return false;
    head = head.subspan(static_cast<std::size_t>(length));
  }
  return head.size() >= kMagicBytes && magic_of(head) == ZSTD_MAGICNUMBER;
}

ZstdDecoder::ZstdDecoder(const ByteSource& source, const SeekPoint& point)
    : StreamDecoder(point.out), source_(source), state_(::ZSTD_createDCtx()), input_(source, point.in) {
  if (state_ == nullptr) throw memory_error("decompress {}: no memory for libzstd", source.name());
  ::ZSTD_DCtx_setParameter(state_, ZSTD_d_windowLogMax, kMaxZstdWindowLog);
}

ZstdDecoder::~ZstdDecoder() { ::ZSTD_freeDCtx(state_); }

void ZstdDecoder::damaged(const std::string& what) const {
  throw input_error("decompress {}: the Zstandard stream is damaged near offset {}: {}", source_.name(),
                    input_.position(), what);
}

void ZstdDecoder::rejected(std::size_t result) const {
  const std::string frame = fmt::format("decompress {}: the frame at offset {}", source_.name(), frame_);
  switch (::ZSTD_getErrorCode(result)) {
    case ZSTD_error_frameParameter_windowTooLarge:
      throw input_error(
          "{} needs a window of more than 2^{} bytes; compress it again without --long, or with --long={} at most",
          frame, kMaxZstdWindowLog, kMaxZstdWindowLog);
    case ZSTD_error_dictionary_wrong: throw input_error("{} needs a dictionary; compress it again without one", frame);
    case ZSTD_error_memory_allocation: throw memory_error("{}: no memory for its window", frame);
    default: damaged(::ZSTD_getErrorName(result));
  }
}

// libzstd would also accept the formats before 1.0, which are not supported here.
void ZstdDecoder::begin_frame() {
  const std::span<const std::uint8_t> head = input_.next(kMagicBytes);
  if (head.size() < kMagicBytes) damaged("it ends within the first bytes of a frame");
  if (magic_of(head) != ZSTD_MAGICNUMBER && !is_skippable(magic_of(head))) damaged("expected the beginning of a frame");
  frame_ = input_.position();
  needed_ = kShortestHeader;
  in_frame_ = true;
}

std::size_t ZstdDecoder::produce(std::span<std::uint8_t> out, bool stop_at_points) {
  std::size_t done = 0;
  while (done < out.size() && !ended_) {
    if (!in_frame_) begin_frame();
    const std::span<const std::uint8_t> next = input_.next();
    // At most one block: on damage libzstd does not report the output that the same call produced before.
    ZSTD_inBuffer in{next.data(), std::min(next.size(), needed_), 0};
    ZSTD_outBuffer room{out.data() + done, out.size() - done, 0};
    const std::size_t result = ::ZSTD_decompressStream(state_, &room, &in);
    if (::ZSTD_isError(result) != 0) rejected(result);
    input_.take(in.pos);
    done += room.pos;
    out_ += room.pos;
    needed_ = result;
    if (result == 0) {
      in_frame_ = false;
      ended_ = input_.next().empty();
      if (stop_at_points) return done;
    } else if (next.empty() && room.pos == 0) {
      damaged("it ends within a frame");
    }
  }
  return done;
}

// Decodes one more step into the ring, up to `end`, since later blocks may be damaged. False at the end of the stream.
bool ZstdDecoder::remember(std::uint64_t end) {
  if (!history_) history_ = std::make_unique_for_overwrite<std::uint8_t[]>(kZstdHistory);
  const auto at = static_cast<std::size_t>(out_ % kZstdHistory);
  const auto step =
      static_cast<std::size_t>(std::min({std::uint64_t{kHistoryStep}, std::uint64_t{kZstdHistory - at}, end - out_}));
  const std::size_t got = produce({history_.get() + at, step});
  remembered_ = std::min(remembered_ + got, kZstdHistory);
  return got > 0;
}

std::size_t ZstdDecoder::read(std::uint64_t offset, std::span<std::uint8_t> out) {
  const std::uint64_t end = offset + out.size();
  while (out_ < offset) {
    if (!remember(end)) return 0;
  }
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t from = offset + done;
    if (from == out_ && !remember(end)) break;
    const auto at = static_cast<std::size_t>(from % kZstdHistory);
    const auto count = static_cast<std::size_t>(
        std::min({std::uint64_t{out.size() - done}, out_ - from, std::uint64_t{kZstdHistory - at}}));
    std::copy_n(history_.get() + at, count, out.data() + done);
    done += count;
  }
  return done;
}

std::size_t ZstdDecoder::memory_bytes() const noexcept {
  return ::ZSTD_sizeof_DCtx(state_) + input_.memory_bytes() + (history_ ? kZstdHistory : 0);
}

}  // namespace unstarve
