// Any bytes as the index of an MDS data set, and as a sample of columns of every kind.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/mds/mds_index.h"

namespace {

using namespace unstarve;

template <class Call>
void try_it(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  unsigned sum = 0;
  try_it([&] {
    const MdsIndex index = parse_mds_index({reinterpret_cast<const char*>(data), size});
    if (index.shards.empty() || index.columns.empty()) __builtin_trap();
  });
  const std::vector<MdsColumn> columns = {{"a", "pil", 0}, {"b", "int16", 2}, {"c", "str_int", 0}, {"d", "jpeg", 0}};
  for (std::size_t which = 0; which < columns.size(); ++which) {
    try_it([&] {
      for (const std::uint8_t byte : mds_value(bytes, columns, which)) sum += byte;
    });
  }
  for (const std::string_view encoding : {"int", "int8", "uint16", "uint64", "str_int"}) {
    try_it([&] { sum += static_cast<unsigned>(mds_integer(encoding, bytes)); });
  }
  try_it([&] {
    const MdsPixels image = parse_mds_pil(bytes);
    sum += image.pixels[std::size_t{image.width} * image.height * static_cast<std::size_t>(image.channels) - 1];
  });
  volatile unsigned keep = sum;  // the reads must happen
  (void)keep;
  return 0;
}
