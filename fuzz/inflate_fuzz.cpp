// Any bytes as a compressed stream, and any bytes as its seek points (Zstandard: zstd_fuzz.cpp).
//
// The first byte is the case: bit 0 mapped or by ranges; bit 1 clear: the rest is the stream, whose random reads must
// equal its sequential ones; bit 1 set: two bytes of length, so many bytes of seek points (their checksums are put right),
// then the stream.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/inflate.h"
#include "unstarve/storage/bytes/memory_bytes.h"
#include "unstarve/storage/crc32.h"
#include "unstarve/storage/little_endian.h"

namespace {

using namespace unstarve;

constexpr std::size_t kMostOutput = std::size_t{8} << 20;

std::span<const std::uint8_t> view(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string read(const ByteSource& source, std::uint64_t offset, std::size_t length) {
  std::string out(length, '\0');
  source.read(offset, {reinterpret_cast<std::uint8_t*>(out.data()), length});
  return out;
}

void check_stream(const std::shared_ptr<const ByteSource>& source, Compression compression) {
  const auto forward = inflate_forward(*source, compression);
  std::string whole;
  try {
    while (whole.size() < kMostOutput) {
      const auto piece = forward->at(whole.size(), 50'000);
      if (piece.empty()) break;
      whole.append(piece.begin(), piece.end());
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  const std::string points = forward->take_points();
  const auto output = open_inflated(source, compression, view(points));
  for (const std::size_t part : {3u, 1u, 2u, 0u}) {
    const std::size_t offset = whole.size() / 4 * part;
    const std::size_t length = std::min<std::size_t>(whole.size() - offset, 1000);
    if (read(*output, offset, length) != whole.substr(offset, length)) std::abort();
  }
}

void check_points(const std::shared_ptr<const ByteSource>& source, Compression compression, std::string points) {
  constexpr std::size_t kHeader = 16, kEntry = 40;
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i, value >>= 8) points[at + i] = static_cast<char>(value);
  };
  const std::uint64_t count = points.size() < kHeader
                                  ? 0
                                  : std::min<std::uint64_t>(load_little<std::uint64_t>(view(points).data() + 8),
                                                            (points.size() - kHeader) / kEntry);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = kHeader + i * kEntry;
    const auto windows = view(points).subspan(kHeader + count * kEntry);
    const std::uint64_t begin = load_little<std::uint64_t>(view(points).data() + at + 16);
    const std::uint32_t length = load_little<std::uint32_t>(view(points).data() + at + 24);
    if (begin <= windows.size() && length <= windows.size() - begin)
      put(at + 32, crc32(windows.subspan(begin, length)));
    put(at + 36, crc32(view(points).subspan(at, 36)));
  }
  const auto output = open_inflated(source, compression, view(points));
  for (const std::uint64_t part : {0u, 3u, 1u, 2u}) {
    const std::uint64_t offset = std::min<std::uint64_t>(output->size() / 4 * part, kMostOutput);
    (void)read(*output, offset, static_cast<std::size_t>(std::min<std::uint64_t>(output->size() - offset, 1000)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto access = (data[0] & 1) != 0 ? testing::Access::kMapped : testing::Access::kRanges;
  const bool with_points = (data[0] & 2) != 0;
  std::string stream(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string points;
  if (with_points) {
    points = stream.substr(2, load_little<std::uint16_t>(data + 1));
    stream.erase(0, 2 + points.size());
  }
  const Compression compression = detect_compression(view(stream));
  if (compression == Compression::kNone) return 0;
  const auto source = std::make_shared<testing::MemoryBytes>(stream, access);
  try {
    (void)inflate_head(*source, view(stream), 100);
    with_points ? check_points(source, compression, points) : check_stream(source, compression);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  return 0;
}
