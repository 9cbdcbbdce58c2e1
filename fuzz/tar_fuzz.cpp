// Any bytes as a tar archive. The checksums hide what lies behind them from a fuzzer, so the input is walked twice: as
// it is, and with checksums put right (tar_checksums.h).
#include <cstddef>
#include <cstdint>

#include "fuzz/tar_checksums.h"
#include "unstarve/storage/formats/webdataset/tar_scanner.h"
#include "unstarve/storage/testing/forward_memory.h"

namespace {

using namespace unstarve;

void walk(std::span<const std::uint8_t> bytes) {
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
  volatile unsigned keep = sum;  // the reads must happen
  (void)keep;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  walk({data, size});
  walk(unstarve::fuzz::with_tar_checksums({data, size}));
  return 0;
}
