// Any bytes as a Parquet file: footer, columns, pages. What can be read is read; everything else must be an Error.
// A fuzzer meets Arrow's Thrift and page decoders behind our checks, which bound what they may allocate. Without Arrow
// only the choice of columns is exercised.
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

void read(std::string_view bytes, testing::Access access) {
  try {
    ParquetOptions options;
    options.threads = 1;
    options.cache_bytes = 1;  // no thread decodes ahead: every run is the same
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
    volatile unsigned keep = sum;  // the reads must happen
    (void)keep;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput && error.kind() != ErrorKind::kMissing) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)parse_huggingface(bytes);
  read(bytes, testing::Access::kMapped);
  read(bytes, testing::Access::kRanges);
  return 0;
}
