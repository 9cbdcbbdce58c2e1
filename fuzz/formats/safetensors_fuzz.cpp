// Arbitrary bytes as a safetensors file: parsed into spans inside of the file, or rejected with Error(kInput).
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "unstarve/core/error.h"
#include "unstarve/models/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const unstarve::SafetensorsHeader header = unstarve::parse_safetensors({data, size}, "fuzz");
    for (const unstarve::StoredTensor& tensor : header.tensors) {
      if (tensor.begin > tensor.end || tensor.end > size) std::abort();
    }
  } catch (const unstarve::Error& error) {
    if (error.kind() != unstarve::ErrorKind::kInput) std::abort();
  }
  return 0;
}
