// Arbitrary bytes as a compressed stream, and arbitrary bytes as its seek points (Zstandard: zstd_fuzz.cpp).
//
// stream_checks.h defines the layout of an input. Without points, random reads must equal sequential reads; the
// checksums of points are corrected.
#include "fuzz/codecs/stream_checks.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc.h"

namespace {

using namespace unstarve;
using namespace unstarve::fuzz;

constexpr std::size_t kMaxOutput = std::size_t{8} << 20;

void check_stream(const std::shared_ptr<const ByteSource>& source, Compression compression) {
  const auto forward = inflate_forward(*source, compression);
  std::string whole;
  (void)drain(*forward, kMaxOutput, whole);
  const std::string points = forward->take_points();
  check_reads(*open_inflated(source, compression, bytes_of(points)), whole);
}

void check_points(const std::shared_ptr<const ByteSource>& source, Compression compression, std::string points) {
  constexpr std::size_t kHeader = 16, kEntry = 40;
  const auto put = [&](std::size_t offset, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i, value >>= 8) points[offset + i] = static_cast<char>(value);
  };
  const std::uint64_t count = points_in(points, kHeader, kEntry);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t entry = kHeader + i * kEntry;
    const auto windows = bytes_of(points).subspan(kHeader + count * kEntry);
    const std::uint64_t begin = load_little<std::uint64_t>(bytes_of(points).data() + entry + 16);
    const std::uint32_t length = load_little<std::uint32_t>(bytes_of(points).data() + entry + 24);
    if (begin <= windows.size() && length <= windows.size() - begin)
      put(entry + 32, crc32(windows.subspan(begin, length)));
    put(entry + 36, crc32(bytes_of(points).subspan(entry, 36)));
  }
  read_unchecked(*open_inflated(source, compression, bytes_of(points)), kMaxOutput);
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
