// Any bytes as the file of scan indexes beside a shard: as they are, and with its head and an entry put right.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/index/scan_index_file.h"
#include "unstarve/storage/index/scan_index_layout.h"

namespace {

using namespace unstarve;
namespace layout = scan_index_layout;

constexpr std::uint64_t kShardBytes = 1000;

void read_everything(std::span<const std::uint8_t> file, std::uint64_t records) {
  if (!ScanIndexView::is_of(file, records, kShardBytes)) return;
  const ScanIndexView view(file);
  std::size_t sum = 0;
  for (std::uint64_t record = 0; record < records; ++record) {
    for (const std::uint8_t byte : view.find(record).bytes) sum += byte;
  }
  volatile std::size_t keep = sum;  // the reads must happen
  (void)keep;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < layout::kHeaderBytes) return 0;
  const auto told = load_little<std::uint64_t>(data + 16);
  read_everything({data, size}, std::min<std::uint64_t>(told, 1000));
  // As many records as the bytes have room for, and more.
  const std::uint64_t room = (size - layout::kHeaderBytes) / layout::kEntryBytes;
  for (const std::uint64_t records : {room, room + 1, room / 2}) {
    std::vector<std::uint8_t> mended(data, data + size);
    const std::string head = layout::header_of(records, kShardBytes);
    std::memcpy(mended.data(), head.data(), head.size());
    for (std::uint64_t record = 0; record < std::min(records, room); ++record) {
      std::uint8_t* const entry = mended.data() + layout::entry_offset(record);
      const auto offset = load_little<std::uint64_t>(entry);
      const auto length = load_little<std::uint32_t>(entry + 8);
      if (offset > size || length > size - offset) continue;
      const layout::Entry right = layout::entry_of(offset, std::span(mended).subspan(offset, length));
      std::copy(right.begin(), right.end(), entry);
    }
    read_everything(mended, records);
  }
  return 0;
}
