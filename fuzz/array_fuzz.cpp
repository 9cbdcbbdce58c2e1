// Arbitrary bytes as an .npy file and as an idx file.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/arrays/idx_header.h"
#include "unstarve/storage/formats/arrays/npy_header.h"

namespace {

template <class Header>
void check(const Header& header, std::size_t size) {
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
    check(unstarve::parse_npy_header(bytes, size), size);
  } catch (const unstarve::Error&) {
  }
  try {
    check(unstarve::parse_idx_header(bytes.first(std::min(size, unstarve::kMaxIdxHeaderBytes)), size), size);
  } catch (const unstarve::Error&) {
  }
  return 0;
}
