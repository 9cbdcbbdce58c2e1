// Arbitrary bytes as the scan index file of a shard: unchanged, and with corrected header and entries.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/index/scan_index_file.h"

namespace {

using namespace unstarve;
namespace layout = scan_index_layout;

constexpr std::uint64_t kShardBytes = 1000;

void read_everything(std::span<const std::uint8_t> file, std::uint64_t records) {
  if (!ScanIndexView::why_not_of(file, records, kShardBytes).empty()) return;
  const ScanIndexView view(file);
  std::size_t sum = 0;
  for (std::uint64_t record = 0; record < records; ++record) {
    for (const std::uint8_t byte : view.find(record).bytes) sum += byte;
  }
  volatile std::size_t used = sum;  // prevents the reads from being optimised away
  (void)used;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < layout::kHeaderBytes) return 0;
  const auto declared = load_little<std::uint64_t>(data + 16);
  read_everything({data, size}, std::min<std::uint64_t>(declared, 1000));
  // As many records as fit, one more, and half as many.
  const std::uint64_t capacity = (size - layout::kHeaderBytes) / layout::kEntryBytes;
  for (const std::uint64_t records : {capacity, capacity + 1, capacity / 2}) {
    std::vector<std::uint8_t> corrected(data, data + size);
    const std::string head = layout::header_of(records, kShardBytes);
    std::memcpy(corrected.data(), head.data(), head.size());
    for (std::uint64_t record = 0; record < std::min(records, capacity); ++record) {
      std::uint8_t* const entry = corrected.data() + layout::entry_offset(record);
      const auto offset = load_little<std::uint64_t>(entry);
      const auto length = load_little<std::uint32_t>(entry + 8);
      if (offset > size || length > size - offset) continue;
      const layout::Entry right = layout::entry_of(offset, std::span(corrected).subspan(offset, length));
      std::copy(right.begin(), right.end(), entry);
    }
    read_everything(corrected, records);
  }
  return 0;
}
