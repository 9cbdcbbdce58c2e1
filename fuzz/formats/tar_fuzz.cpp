// Arbitrary bytes as a tar archive. A fuzzer cannot get past checksums, so each input is scanned twice: unchanged, and
// with corrected checksums (tar_checksums.h).
#include <cstddef>
#include <cstdint>

#include "fuzz/formats/tar_checksums.h"
#include "unstarve/storage/formats/webdataset/tar_scanner.h"
#include "unstarve/storage/testing/forward_memory.h"

namespace {

using namespace unstarve;

void scan(std::span<const std::uint8_t> bytes) {
  testing::ForwardMemory forward(bytes);
  TarScanner scanner(forward);
  TarEvent event;
  unsigned sum = 0;
  // Every event takes at least one block.
  for (std::size_t events = 0;; ++events) {
    if (events > bytes.size() / kTarBlockBytes + 1) __builtin_trap();
    scanner.next(event);
    if (event.kind == TarEvent::Kind::kEnd) break;
    if (event.header > bytes.size() || event.bytes > bytes.size() - event.header) __builtin_trap();
    if (event.kind == TarEvent::Kind::kDamage && event.reason.empty()) __builtin_trap();
    if (event.kind == TarEvent::Kind::kFile && event.body.size() != event.bytes) __builtin_trap();
    for (const std::uint8_t byte : event.body) sum += byte;
    const std::size_t extension = tar_extension_at(event.name);
    if (extension != std::string_view::npos && extension > event.name.size()) __builtin_trap();
    sum += is_tar_metadata(event.name) ? 1 : 0;
  }
  volatile unsigned used = sum;  // prevents the reads from being optimised away
  (void)used;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  scan({data, size});
  scan(unstarve::fuzz::with_tar_checksums({data, size}));
  return 0;
}
