// Arbitrary bytes as a Zstandard stream, compared with libzstd, and arbitrary bytes as its seek points.
//
// stream_checks.h defines the layout of an input. Without points, random reads must equal sequential reads and, if
// libzstd decodes the stream in one call, its output. The checksums of points are corrected.
#include <zstd.h>

#include "fuzz/codecs/stream_checks.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/zstd_decoder.h"

namespace {

using namespace unstarve;
using namespace unstarve::fuzz;

constexpr std::size_t kMaxOutput = std::size_t{4} << 20;

void check_stream(const std::shared_ptr<const ByteSource>& source, const std::string& stored) {
  const auto forward = inflate_forward(*source, Compression::kZstd);
  std::string whole;
  const bool complete = drain(*forward, kMaxOutput, whole);
  if (complete && begins_as_zstd(bytes_of(stored))) {
    std::string reference(kMaxOutput, '\0');
    const std::size_t got = ::ZSTD_decompress(reference.data(), reference.size(), stored.data(), stored.size());
    // libzstd rejects empty compressed blocks when decoding in one call, and skips them when streaming.
    if (::ZSTD_isError(got) == 0 && whole != reference.substr(0, got)) std::abort();
  }
  const std::string points = forward->take_points();
  check_reads(*open_inflated(source, Compression::kZstd, bytes_of(points)), whole);
}

void check_points(const std::shared_ptr<const ByteSource>& source, std::string points) {
  constexpr std::size_t kHeader = 16, kEntry = 40, kChecked = 36;
  const std::uint64_t count = points_in(points, kHeader, kEntry);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t entry = kHeader + i * kEntry;
    std::string sum;
    append_little(sum, crc32(bytes_of(points).subspan(entry, kChecked)));
    points.replace(entry + kChecked, sum.size(), sum);
  }
  read_unchecked(*open_inflated(source, Compression::kZstd, bytes_of(points)), kMaxOutput);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const StreamCase parts = stream_case(data, size);
  const auto source = std::make_shared<MemoryBytes>(parts.stream, parts.access);
  try {
    (void)inflate_head(*source, bytes_of(parts.stream), 100);
    parts.with_points ? check_points(source, parts.points) : check_stream(source, parts.stream);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  return 0;
}
