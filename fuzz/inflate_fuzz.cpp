// Any bytes as a compressed stream, and any bytes as its seek points (Zstandard: zstd_fuzz.cpp).
//
// A case's parts stand in stream_checks.h. Without points, random reads must equal sequential ones; the checksums of
// points are put right.
#include "fuzz/stream_checks.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc32.h"

namespace {

using namespace unstarve;
using namespace unstarve::fuzz;

constexpr std::size_t kMostOutput = std::size_t{8} << 20;

void check_stream(const std::shared_ptr<const ByteSource>& source, Compression compression) {
  const auto forward = inflate_forward(*source, compression);
  std::string whole;
  (void)drain(*forward, kMostOutput, whole);
  const std::string points = forward->take_points();
  check_reads(*open_inflated(source, compression, bytes_of(points)), whole);
}

void check_points(const std::shared_ptr<const ByteSource>& source, Compression compression, std::string points) {
  constexpr std::size_t kHeader = 16, kEntry = 40;
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i, value >>= 8) points[at + i] = static_cast<char>(value);
  };
  const std::uint64_t count = points_in(points, kHeader, kEntry);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = kHeader + i * kEntry;
    const auto windows = bytes_of(points).subspan(kHeader + count * kEntry);
    const std::uint64_t begin = load_little<std::uint64_t>(bytes_of(points).data() + at + 16);
    const std::uint32_t length = load_little<std::uint32_t>(bytes_of(points).data() + at + 24);
    if (begin <= windows.size() && length <= windows.size() - begin)
      put(at + 32, crc32(windows.subspan(begin, length)));
    put(at + 36, crc32(bytes_of(points).subspan(at, 36)));
  }
  read_about(*open_inflated(source, compression, bytes_of(points)), kMostOutput);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const StreamCase parts = stream_case(data, size);
  const Compression compression = detect_compression(bytes_of(parts.stream));
  if (compression == Compression::kNone) return 0;
  const auto source = std::make_shared<MemoryBytes>(parts.stream, parts.access);
  try {
    (void)inflate_head(*source, bytes_of(parts.stream), 100);
    parts.with_points ? check_points(source, compression, parts.points) : check_stream(source, compression);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  return 0;
}
