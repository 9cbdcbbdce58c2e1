// Arbitrary bytes as a pickle of CIFAR: a batch, and a list of class names, of both datasets. Everything but their
// contents must be an Error.
#include <cstddef>
#include <cstdint>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/cifar/cifar_python.h"

namespace {

using namespace unstarve;

void parse(std::span<const std::uint8_t> bytes, const CifarLayout& layout) {
  unsigned sum = 0;
  try {
    const CifarBatch batch = parse_cifar_batch(bytes, layout);
    const std::span<const std::uint8_t> pixels = batch.decoded.empty() ? batch.pixels : std::span(batch.decoded);
    if (batch.labels.empty() || pixels.size() != batch.labels.size() * 3072) __builtin_trap();
    for (const std::uint8_t byte : pixels) sum += byte;
    for (const std::int32_t label : batch.labels)
      if (label < -1 || label >= layout.classes) __builtin_trap();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) __builtin_trap();
  }
  try {
    if (parse_cifar_names(bytes, layout).size() != static_cast<std::size_t>(layout.classes)) __builtin_trap();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) __builtin_trap();
  }
  volatile unsigned used = sum;  // prevents the reads from being optimised away
  (void)used;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse({data, size}, kCifar10Python);
  parse({data, size}, kCifar100Python);
  return 0;
}
