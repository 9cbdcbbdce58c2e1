// Arbitrary bytes as meta.mat of the ImageNet devkit.
#include <cstddef>
#include <cstdint>

#include "unstarve/core/error.h"
#include "unstarve/jobs/prepare/mat_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& [number, wnid] : unstarve::parse_imagenet_classes({data, size}, "meta.mat")) {
      if (number <= 0 || wnid.empty() || wnid.find('/') != std::string::npos) __builtin_trap();
    }
  } catch (const unstarve::Error& error) {
    if (error.kind() != unstarve::ErrorKind::kInput) __builtin_trap();
  }
  return 0;
}
