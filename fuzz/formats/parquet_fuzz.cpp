// Arbitrary bytes as a Parquet file (footer, columns, pages) and as an Arrow file. Reads all readable records;
// everything else must be an Error. Our checks limit the allocations of Arrow's decoders. Without Arrow only the column
// selection is tested.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/parquet/columns.h"
#include "unstarve/storage/formats/parquet/parquet_dataset.h"
#include "unstarve/storage/testing/memory_bytes.h"

namespace {

using namespace unstarve;

void read(std::string_view bytes, testing::Access access, bool ipc) {
  try {
    ParquetOptions options;
    options.ipc = ipc;
    options.threads = 1;
    options.cache_bytes = 1;  // no decoding in advance: runs are deterministic
    const ParquetDataset data({{"memory", std::make_shared<testing::MemoryBytes>(bytes, access)}}, options);
    RecordBuffer record;
    unsigned sum = 0;
    for (std::uint64_t id = 0; id < std::min<std::uint64_t>(data.size(), 64); ++id) {
      try {
        data.read(id, record);
        for (const std::uint8_t byte : record.values.at(0).bytes) sum += byte;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kInput) __builtin_trap();
      }
    }
    volatile unsigned used = sum;  // prevents the reads from being optimised away
    (void)used;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput && error.kind() != ErrorKind::kMissing) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)parse_huggingface(bytes);
  for (const bool ipc : {false, true}) {
    read(bytes, testing::Access::kMapped, ipc);
    read(bytes, testing::Access::kRanges, ipc);
  }
  return 0;
}
