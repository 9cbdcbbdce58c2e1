#include "unstarve/pipeline/delivery/batch_arrays.h"

#include <algorithm>
#include <cstring>

namespace unstarve {

std::size_t BatchArrays::compact(std::size_t samples, std::size_t sample_bytes) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    if (!good[i]) continue;
    if (kept != i) {
      std::memcpy(memory->data() + kept * sample_bytes, memory->data() + i * sample_bytes, sample_bytes);
      labels[kept] = labels[i];
      ids[kept] = ids[i];
      if (!sizes.empty()) sizes[kept] = sizes[i];
      if (!files.empty()) files[kept] = files[i];
    }
    ++kept;
  }
  return kept;
}

void BatchArrays::repeat(std::size_t samples, std::size_t count, std::size_t sample_bytes) {
  const auto copy = [](auto* data, std::size_t to, std::size_t from, std::size_t each) {
    std::copy_n(data + from * each, each, data + to * each);
  };
  for (std::size_t i = samples; i < count; ++i) {
    const std::size_t from = i - samples;  // may be a copy itself
    copy(memory->data(), i, from, sample_bytes);
    copy(targets.data(), i, from, classes());
    labels[i] = labels[from];
    ids[i] = ids[from];
    if (!sizes.empty()) sizes[i] = sizes[from];
    if (!files.empty()) files[i] = files[from];
  }
}

BatchArrays make_arrays(const SlotLayout& layout, Device& device) {
  const std::size_t samples = layout.samples, bytes = layout.sample_bytes * (samples + (layout.padded ? 1 : 0));
  BatchArrays arrays;
  arrays.memory = layout.pinned ? device.allocate_pinned(bytes) : allocate_untouched(bytes);
  arrays.labels.resize(samples);
  arrays.ids.resize(samples);
  arrays.good.resize(samples);
  arrays.targets.resize(samples * layout.classes);
  if (layout.padded) arrays.sizes.resize(samples);
  if (layout.files) arrays.files.resize(samples);
  if (layout.numbered) arrays.numbers.resize(samples);
  return arrays;
}

}  // namespace unstarve
