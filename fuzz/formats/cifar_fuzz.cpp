// Arbitrary bytes as a CIFAR binary (the first byte selects the layout) and as a list of class names.
#include <cstddef>
#include <cstdint>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/cifar/cifar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unstarve::CifarLayout& layout = data[0] % 2 == 0 ? unstarve::kCifar10 : unstarve::kCifar100;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  unsigned sum = 0;
  try {
    const unstarve::CifarRecords records(layout, bytes, "fuzz");
    unstarve::RecordBuffer record;
    for (std::uint64_t i = 0; i < records.size(); ++i) {
      try {
        records.read(i, record);
      } catch (const unstarve::Error&) {
        continue;  // label out of range: the other records must be readable
      }
      const unstarve::PixelView& view = record.values[0].pixels;
      for (int c = 0; c < unstarve::kChannels; ++c) sum += view.at(view.width - 1, view.height - 1, c);
      if (record.values[1].integer < 0 || record.values[1].integer >= layout.classes) __builtin_trap();
    }
  } catch (const unstarve::Error&) {
  }
  try {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (unstarve::parse_class_names(text, layout.classes, "fuzz").size() != static_cast<std::size_t>(layout.classes)) {
      __builtin_trap();
    }
  } catch (const unstarve::Error&) {
  }
  volatile unsigned used = sum;  // prevents the reads from being optimised away
  (void)used;
  return 0;
}
