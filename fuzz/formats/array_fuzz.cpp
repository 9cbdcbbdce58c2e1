// Arbitrary bytes as an .npy file and as an idx file.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/arrays/array_header.h"
#include "unstarve/storage/source/first_bytes.h"

namespace {

void check(const unstarve::ArrayHeader& header, std::size_t size) {
  unstarve::check_length(header, size);
  std::uint64_t product = header.element_bytes;
  for (const std::uint64_t length : header.shape) product *= length;
  if (product != header.data_bytes || header.header_bytes + header.data_bytes != size) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  (void)unstarve::is_npy(bytes);
  (void)unstarve::is_idx_images(bytes);
  (void)unstarve::is_idx_labels(bytes);
  try {
    check(unstarve::read_npy_header(bytes), size);
  } catch (const unstarve::Error&) {
  }
  try {
    check(unstarve::read_idx_header(bytes.first(std::min(size, unstarve::kMaxIdxHeaderBytes))), size);
  } catch (const unstarve::Error&) {
  }
  return 0;
}
