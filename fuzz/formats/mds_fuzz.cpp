// Arbitrary bytes as the index of an MDS dataset, and as a sample with columns of every kind.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/mds/mds_index.h"

namespace {

using namespace unstarve;

template <class Call>
void expect_input_errors(const Call& call) {
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
  expect_input_errors([&] {
    const MdsIndex index = parse_mds_index({reinterpret_cast<const char*>(data), size});
    if (index.shards.empty() || index.columns.empty()) __builtin_trap();
  });
  const std::vector<MdsColumn> columns = {{"a", "pil", 0}, {"b", "int16", 2}, {"c", "str_int", 0}, {"d", "jpeg", 0}};
  for (std::size_t which = 0; which < columns.size(); ++which) {
    expect_input_errors([&] {
      for (const std::uint8_t byte : mds_value(bytes, columns, which)) sum += byte;
    });
  }
  for (const std::string_view encoding : {"int", "int8", "uint16", "uint64", "str_int"}) {
    expect_input_errors([&] { sum += static_cast<unsigned>(mds_integer(encoding, bytes)); });
  }
  expect_input_errors([&] {
    const MdsPixels image = parse_mds_pil(bytes);
    sum += image.pixels[std::size_t{image.width} * image.height * static_cast<std::size_t>(image.channels) - 1];
  });
  volatile unsigned used = sum;  // prevents the reads from being optimised away
  (void)used;
  return 0;
}
