// Any bytes as a Zstandard stream, against libzstd's decoder of whole streams, and any places as its frames' starts.
//
// The first byte is the case: bit 0 mapped or by ranges; bit 1 clear: the rest is the stream, whose random reads must
// equal its sequential ones and, where libzstd decodes it in one call, that output; bit 1 set: two bytes of length, so
// many bytes of points (their checksums are put right), then the stream.
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/inflate.h"
#include "unstarve/storage/bytes/memory_bytes.h"
#include "unstarve/storage/bytes/zstd_decoder.h"
#include "unstarve/storage/crc32.h"
#include "unstarve/storage/little_endian.h"

namespace {

using namespace unstarve;

constexpr std::size_t kMostOutput = std::size_t{4} << 20;

std::span<const std::uint8_t> view(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string read(const ByteSource& source, std::uint64_t offset, std::size_t length) {
  std::string out(length, '\0');
  source.read(offset, {reinterpret_cast<std::uint8_t*>(out.data()), length});
  return out;
}

// True when the whole stream was decoded into `whole`.
bool drain(InflatingForward& forward, std::string& whole) {
  try {
    while (whole.size() < kMostOutput) {
      const auto piece = forward.at(whole.size(), 50'000);
      if (piece.empty()) return true;
      whole.append(piece.begin(), piece.end());
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  return false;
}

void check_stream(const std::shared_ptr<const ByteSource>& source, const std::string& stored) {
  const auto forward = inflate_forward(*source, Compression::kZstd);
  std::string whole;
  const bool complete = drain(*forward, whole);
  if (complete && begins_as_zstd(view(stored))) {
    std::string reference(kMostOutput, '\0');
    const std::size_t got = ::ZSTD_decompress(reference.data(), reference.size(), stored.data(), stored.size());
    // Decoding in one call refuses compressed blocks of no bytes, as a stream libzstd passes over them.
    if (::ZSTD_isError(got) == 0 && whole != reference.substr(0, got)) std::abort();
  }
  const std::string points = forward->take_points();
  const auto output = open_inflated(source, Compression::kZstd, view(points));
  for (const std::size_t part : {3u, 1u, 2u, 0u}) {
    const std::size_t offset = whole.size() / 4 * part;
    const std::size_t length = std::min<std::size_t>(whole.size() - offset, 1000);
    if (read(*output, offset, length) != whole.substr(offset, length)) std::abort();
  }
}

void check_points(const std::shared_ptr<const ByteSource>& source, std::string points) {
  constexpr std::size_t kHeader = 16, kEntry = 40, kChecked = 36;
  const std::uint64_t count = points.size() < kHeader
                                  ? 0
                                  : std::min<std::uint64_t>(load_little<std::uint64_t>(view(points).data() + 8),
                                                            (points.size() - kHeader) / kEntry);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = kHeader + i * kEntry;
    std::string sum;
    append_little(sum, crc32(view(points).subspan(at, kChecked)));
    points.replace(at + kChecked, sum.size(), sum);
  }
  const auto output = open_inflated(source, Compression::kZstd, view(points));
  for (const std::uint64_t part : {0u, 3u, 1u, 2u}) {
    const std::uint64_t offset = std::min<std::uint64_t>(output->size() / 4 * part, kMostOutput);
    (void)read(*output, offset, static_cast<std::size_t>(std::min<std::uint64_t>(output->size() - offset, 1000)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto access = (data[0] & 1) != 0 ? testing::Access::kMapped : testing::Access::kRanges;
  std::string stream(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string points;
  if ((data[0] & 2) != 0) {
    points = stream.substr(2, load_little<std::uint16_t>(data + 1));
    stream.erase(0, 2 + points.size());
  }
  const auto source = std::make_shared<testing::MemoryBytes>(stream, access);
  try {
    (void)inflate_head(*source, view(stream), 100);
    (data[0] & 2) != 0 ? check_points(source, points) : check_stream(source, stream);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  return 0;
}
