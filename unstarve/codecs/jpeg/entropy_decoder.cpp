#include "unstarve/codecs/jpeg/entropy_decoder.h"

#include <algorithm>

namespace unstarve {

void EntropyDecoder::start(const EntropyBytes& bytes, McuRow& row, int restart_interval, std::size_t mcus) {
  bytes_ = &bytes;
  row_ = &row;
  interval_ = restart_interval > 0 ? static_cast<std::size_t>(restart_interval) : mcus;
  segment_ = 0;
  enter_segment();
}

void EntropyDecoder::start_at(const EntropyBytes& bytes, McuRow& row, int restart_interval, std::size_t mcus,
                              std::size_t first, const EntropyPlace& place) {
  start(bytes, row, restart_interval, mcus);
  left_in_segment_ -= first % interval_;
  dc_ = place.dc;
  // As after a refill of which `bit` bits are consumed.
  constexpr std::size_t kLoaded = sizeof(std::uint64_t) - 1;
  for (std::size_t i = 0; i <= kLoaded; ++i) state_.bits = state_.bits << 8 | state_.next[i];
  state_.bits <<= place.bit;
  state_.count = 8 * kLoaded - place.bit;
  state_.next += kLoaded;
}

EntropyPlace EntropyDecoder::place() const {
  return {static_cast<std::size_t>(state_.next - bytes_->data()) * 8 - state_.count, dc_};
}

void EntropyDecoder::enter_segment() {
  state_ = {};
  dc_ = {};
  state_.next = bytes_->data() + (segment_ == 0 ? 0 : bytes_->segment_ends()[segment_ - 1]);
  left_in_segment_ = interval_;
}

// All bits of the segment are used up but for those that fill its last byte.
bool EntropyDecoder::ends_here() const {
  const std::size_t loaded = static_cast<std::size_t>(state_.next - bytes_->data()) * 8;
  const std::size_t used = loaded - state_.count;
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

const std::uint8_t* EntropyDecoder::limit() const {
  return bytes_->data() + bytes_->segment_ends().back() + sizeof(std::uint64_t);
}

// Bits that do not exist were read as zeros.
bool EntropyDecoder::within_segment() const { return place().bit <= bytes_->segment_ends()[segment_] * 8; }

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
  return run(mcus, [&](std::size_t, std::size_t count) { return row_->skip(state_, dc_, count, limit()); });
}

bool EntropyDecoder::keep(std::size_t first, std::size_t mcus) {
  return run(
      mcus, [&](std::size_t done, std::size_t count) { return row_->keep(state_, dc_, first + done, count, limit()); });
}

bool EntropyDecoder::finish() const {
  constexpr int kEndOfImage = 0xD9;
  return ends_here() && segment_ + 1 == bytes_->segment_ends().size() && bytes_->end_marker() == kEndOfImage;
}

}  // namespace unstarve
