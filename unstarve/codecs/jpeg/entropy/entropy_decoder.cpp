#include "unstarve/codecs/jpeg/entropy/entropy_decoder.h"

#include <algorithm>

namespace unstarve {

void EntropyDecoder::start(const EntropyBytes& bytes, McuRow& row, int restart_interval, std::size_t mcus) {
  bytes_ = &bytes;
  row_ = &row;
  interval_ = restart_interval > 0 ? static_cast<std::size_t>(restart_interval) : mcus;
  segment_ = 0;
  enter_segment();
}

void EntropyDecoder::begin_at(std::size_t first, const EntropyPosition& position) {
  left_in_segment_ -= first % interval_;
  stream_.dc = position.dc;
  EntropyState& bits = stream_.bits;
  // The state after a refill and the consumption of position.bit bits.
  constexpr std::size_t kLoaded = sizeof(std::uint64_t) - 1;
  for (std::size_t i = 0; i <= kLoaded; ++i) bits.bits = bits.bits << 8 | bits.next[i];
  bits.bits <<= position.bit;
  bits.count = 8 * kLoaded - position.bit;
  bits.next += kLoaded;
}

EntropyPosition EntropyDecoder::position() const {
  return {static_cast<std::size_t>(stream_.bits.next - bytes_->data()) * 8 - stream_.bits.count, stream_.dc};
}

void EntropyDecoder::enter_segment() {
  const std::vector<std::size_t>& ends = bytes_->segment_ends();
  stream_ = {};
  stream_.bits.next = bytes_->data() + (segment_ == 0 ? 0 : ends[segment_ - 1]);
  stream_.bits.limit = bytes_->data() + ends.back() + sizeof(std::uint64_t);
  left_in_segment_ = interval_;
}

// Whether all bits of the segment have been consumed, except padding in its last byte.
bool EntropyDecoder::ends_here() const {
  const std::size_t loaded = static_cast<std::size_t>(stream_.bits.next - bytes_->data()) * 8;
  const std::size_t used = loaded - stream_.bits.count;
  const std::size_t end = bytes_->segment_ends()[segment_] * 8;
  return used <= end && end - used < 8;
}

bool EntropyDecoder::pass_restart() {
  if (left_in_segment_ > 0) return true;
  if (!ends_here() || segment_ + 1 == bytes_->segment_ends().size()) return false;
  ++segment_;
  enter_segment();
  return true;
}

// Bits after the end of the data are read as zeros.
bool EntropyDecoder::within_segment() const { return position().bit <= bytes_->segment_ends()[segment_] * 8; }

template <class Decode>
bool EntropyDecoder::run(std::size_t mcus, const Decode& decode) {
  for (std::size_t done = 0; done < mcus;) {
    if (!pass_restart()) return false;
    const std::size_t now = std::min(mcus - done, left_in_segment_);
    if (!decode(done, now)) return false;
    left_in_segment_ -= now;
    done += now;
  }
  return within_segment();
}

bool EntropyDecoder::skip(std::size_t mcus) {
  return run(mcus, [&](std::size_t, std::size_t count) { return row_->skip(stream_, count); });
}

bool EntropyDecoder::read(std::size_t first, std::size_t mcus) {
  return run(mcus, [&](std::size_t done, std::size_t count) { return row_->read(stream_, first + done, count); });
}

template <class Decode>
bool EntropyDecoder::run_two(EntropyDecoder& decoder, EntropyDecoder& second, std::size_t mcus, const Decode& decode) {
  if (!decode(*decoder.row_, decoder.stream_, second.stream_)) return false;
  decoder.left_in_segment_ -= mcus;
  second.left_in_segment_ -= mcus;
  return decoder.within_segment() && second.within_segment();
}

bool EntropyDecoder::skip_two(EntropyDecoder& decoder, EntropyDecoder& second, std::size_t mcus) {
  return run_two(decoder, second, mcus, [&](McuRow& row, McuRow::Stream& stream, McuRow::Stream& second_stream) {
    return row.skip_two(stream, second_stream, mcus);
  });
}

bool EntropyDecoder::read_two(EntropyDecoder& decoder, EntropyDecoder& second, std::size_t first, std::size_t mcus) {
  return run_two(decoder, second, mcus, [&](McuRow& row, McuRow::Stream& stream, McuRow::Stream& second_stream) {
    return row.read_two(stream, second_stream, first, mcus);
  });
}

bool EntropyDecoder::finish() const {
  constexpr int kEndOfImage = 0xD9;
  return ends_here() && segment_ + 1 == bytes_->segment_ends().size() && bytes_->end_marker() == kEndOfImage;
}

}  // namespace unstarve
