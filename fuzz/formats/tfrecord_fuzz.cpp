// Arbitrary bytes as a TFRecord shard: indexed and read, mapped and by range requests. A fuzzer cannot get past
// checksums, so each input is used twice: unchanged, and with corrected record checksums.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/formats/tfrecord/tfrecord.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/testing/memory_bytes.h"

namespace {

using namespace unstarve;

void read_everything(std::string_view bytes, testing::Access access) {
  const auto source = std::make_shared<testing::MemoryBytes>(bytes, access);
  std::uint64_t sum = 0;
  try {
    const RecordFiles data({{"memory", source}}, make_tfrecord_format(), {false, 1});
    RecordBuffer record;
    for (std::uint64_t id = 0; id < data.size(); ++id) {
      sum += data.location(id).size();
      try {
        data.read(id, record);
        for (const std::uint8_t byte : record.values.at(0).bytes) sum += byte;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kInput) std::abort();
      }
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  volatile std::uint64_t used = sum;  // prevents the reads from being optimised away
  (void)used;
}

void put(std::string& bytes, std::size_t offset, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i, value >>= 8) bytes[offset + i] = static_cast<char>(value);
}

void correct_checksums(std::string& bytes) {
  const std::span<const std::uint8_t> all(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  for (std::size_t offset = 0; bytes.size() - offset >= 16;) {
    const std::uint64_t length = load_little<std::uint64_t>(all.data() + offset);
    put(bytes, offset + 8, mask_crc32c(crc32c(all.subspan(offset, 8))));
    if (length > bytes.size() - offset - 16) return;
    put(bytes, offset + 12 + length, mask_crc32c(crc32c(all.subspan(offset + 12, length))));
    offset += 16 + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read_everything(bytes, testing::Access::kMapped);
  correct_checksums(bytes);
  read_everything(bytes, testing::Access::kRanges);
  return 0;
}
