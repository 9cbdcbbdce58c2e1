// Arbitrary bytes as the listing of an image folder, unchanged and with a corrected checksum.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/formats/folder/listing_view.h"

namespace {

using namespace unstarve;

void read_everything(std::span<const std::uint8_t> bytes) {
  try {
    const ListingView view(bytes);
    std::size_t sum = view.folders().size() + view.links().size();
    for (std::uint64_t i = 0; i < view.classes(); ++i) sum += view.class_name(i).size() + view.first_file(i);
    for (std::uint64_t id = 0; id < view.files(); ++id) sum += std::strlen(view.file(id));
    volatile std::size_t used = sum;  // prevents the reads from being optimised away
    (void)used;
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_everything({data, size});
  if (size < 48) return 0;
  std::vector<std::uint8_t> corrected(data, data + size);
  const std::span<const std::uint8_t> all(corrected);
  const std::uint32_t crc = crc32c(all.subspan(44), crc32c(all.first(40)));
  for (std::size_t i = 0; i < 4; ++i) corrected[40 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  read_everything(corrected);
  return 0;
}
