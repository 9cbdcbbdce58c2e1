#include "unstarve/codecs/jpeg/index/scan_index.h"

#include <algorithm>

#include "unstarve/codecs/jpeg/index/checksum.h"
#include "unstarve/codecs/jpeg/layout/baseline_plan.h"

namespace unstarve {
namespace {

// In parts whose count fits a byte, so that the compiler vectorises over bytes.
std::size_t count_ff(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kPart = 128;
  std::size_t count = 0;
  for (; bytes.size() >= kPart; bytes = bytes.subspan(kPart)) {
    std::uint8_t of_part = 0;
    for (std::size_t i = 0; i < kPart; ++i) of_part = static_cast<std::uint8_t>(of_part + (bytes[i] == 0xFF ? 1 : 0));
    count += of_part;
  }
  return count + static_cast<std::size_t>(std::ranges::count(bytes, 0xFF));
}

constexpr std::uint8_t kVersion = 2;
constexpr std::size_t kHeaderBytes = 18;

std::size_t as_size(int value) { return static_cast<std::size_t>(value); }

void add(const HuffmanCodes& codes, MixedWords& identity) {
  identity.add(checksum_of(codes.counts));
  std::size_t symbols = 0;
  for (const std::uint8_t count : codes.counts) symbols += count;
  identity.add(checksum_of(std::span(codes.symbols).first(std::min(symbols, codes.symbols.size()))));
}

void put_u64(std::uint64_t value, std::uint8_t* bytes) {
  for (int shift = 0; shift < 64; shift += 8) *bytes++ = static_cast<std::uint8_t>(value >> shift);
}

std::uint64_t u64_at(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 8) value |= std::uint64_t{*bytes++} << shift;
  return value;
}

void put_varint(std::uint64_t value, std::vector<std::uint8_t>& bytes) {
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<std::uint8_t>(value | 128));
  bytes.push_back(static_cast<std::uint8_t>(value));
}

// Reads a varint of at most 5 bytes (35 bits). False if it is longer or `end` is reached.
bool take_varint(const std::uint8_t*& next, const std::uint8_t* end, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 35 && next != end; shift += 7) {
    const std::uint8_t byte = *next++;
    value |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return true;
  }
  return false;
}

std::uint64_t zigzag(std::int32_t value) {
  return static_cast<std::uint32_t>(value) << 1 ^ static_cast<std::uint32_t>(value >> 31);
}

std::int32_t from_zigzag(std::uint64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value >> 1) ^
                                   (0u - static_cast<std::uint32_t>(value & 1)));
}

std::int32_t wrapped_sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

std::int32_t wrapped_difference(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}

}  // namespace

std::uint64_t identity_of(const BaselineImage& image) {
  MixedWords identity;
  const auto add_pair = [&identity](int a, int b) {
    identity.add(std::uint64_t{static_cast<std::uint32_t>(a)} << 32 | static_cast<std::uint32_t>(b));
  };
  add_pair(image.size.width, image.size.height);
  add_pair(image.components, image.restart_interval);
  add_pair(image.horizontal, image.vertical);
  for (int c = 0; c < image.components; ++c) {
    const BaselineComponent& component = image.component[as_size(c)];
    add_pair(component.dc_table, component.ac_table);
    const auto before = image.component.begin() + c;
    const bool seen = std::any_of(image.component.begin(), before, [&](const BaselineComponent& other) {
      return other.dc_table == component.dc_table && other.ac_table == component.ac_table;
    });
    if (seen) continue;
    add(image.dc[as_size(component.dc_table)], identity);
    add(image.ac[as_size(component.ac_table)], identity);
  }
  identity.add(checksum_of(image.scan));
  return identity.value;
}

void ScanIndex::reset(const BaselineImage& image) {
  const BaselinePlan plan = plan_baseline(image);
  per_row_ = as_size((plan.columns + kStep - 1) / kStep);
  rows_ = as_size(plan.rows);
  columns_ = as_size(plan.columns);
  restart_interval_ = as_size(image.restart_interval);
  points_.clear();
}

bool ScanIndex::follows_restart(std::size_t i) const {
  if (restart_interval_ == 0 || i == 0 || i == per_row_ * rows_) return false;
  return (i / per_row_ * columns_ + i % per_row_ * as_size(kStep)) % restart_interval_ == 0;
}

void ScanIndex::write(const BaselineImage& image, std::vector<std::uint8_t>& bytes) const {
  bytes.assign(kHeaderBytes, 0);
  bytes[0] = kVersion;
  bytes[1] = static_cast<std::uint8_t>(kStep);
  put_u64(identity_of(image), bytes.data() + 2);
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const ScanPoint &before = points_[i - 1], &point = points_[i];
    put_varint(point.bit - before.bit, bytes);
    for (std::size_t c = 0; c < as_size(image.components); ++c)
      put_varint(zigzag(wrapped_difference(point.dc[c], before.dc[c])), bytes);
  }
  put_u64(checksum_of(std::span(bytes).subspan(kHeaderBytes)), bytes.data() + 10);
}

bool ScanIndex::is_of_other_version(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= kHeaderBytes && bytes[0] != 0 && bytes[0] != kVersion;
}

bool ScanIndex::read(std::span<const std::uint8_t> bytes, const BaselineImage& image) {
  reset(image);
  if (bytes.size() < kHeaderBytes || bytes[0] != kVersion || bytes[1] != kStep) return false;
  if (u64_at(bytes.data() + 2) != identity_of(image)) return false;
  if (u64_at(bytes.data() + 10) != checksum_of(bytes.subspan(kHeaderBytes))) return false;
  // A point takes at least two bytes. Checked before memory is reserved for a forged size.
  const std::size_t count = per_row_ * rows_ + 1;
  if (count > bytes.size()) return false;
  const std::uint8_t* next = bytes.data() + kHeaderBytes;
  const std::uint8_t* const end = bytes.data() + bytes.size();
  const std::uint64_t limit = std::uint64_t{image.scan.size()} * 8;
  ScanPoint point;
  points_.reserve(count);
  points_.push_back(point);
  bool right = true;
  for (std::size_t i = 1; i < count && right; ++i) {
    std::uint64_t value = 0;
    right = take_varint(next, end, value) && value > 0 && (point.bit += value) <= limit;
    for (std::size_t c = 0; c < as_size(image.components) && right; ++c) {
      right = take_varint(next, end, value);
      point.dc[c] = wrapped_sum(point.dc[c], from_zigzag(value));
    }
    if (follows_restart(i)) right = right && point.bit % 8 == 0 && point.dc == std::array<std::int32_t, 3>{};
    points_.push_back(point);
  }
  if (right && next == end) return true;
  points_.clear();
  return false;
}

void ScanPositions::go_to(std::size_t written) {
  const std::span<const std::uint8_t> passed(bytes_->data() + written_, written - written_);
  read_ += passed.size() + count_ff(passed);  // a stuffed byte follows each FF
  written_ = written;
}

std::uint64_t ScanPositions::bit_in_file(std::size_t bit, std::size_t segment) {
  constexpr std::size_t kMarkerBytes = 2;
  for (; segment_ < segment; ++segment_) {
    go_to(bytes_->segment_ends()[segment_]);
    read_ += kMarkerBytes;
  }
  go_to(bit / 8);
  return std::uint64_t{start_ + read_} * 8 + bit % 8;
}

}  // namespace unstarve
