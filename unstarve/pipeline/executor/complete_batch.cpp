// What becomes of the samples of a batch once all of them are there.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "unstarve/pipeline/executor/loader_state.h"

namespace unstarve {
namespace {

// Closes the gaps that skipped samples left; returns how many samples remain.
std::size_t compact(Slot& slot, std::size_t sample_bytes) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < slot.samples; ++i) {
    if (!slot.good[i]) continue;
    if (kept != i) {
      std::memcpy(slot.memory->data() + kept * sample_bytes, slot.memory->data() + i * sample_bytes, sample_bytes);
      slot.labels[kept] = slot.labels[i];
      slot.ids[kept] = slot.ids[i];
      if (!slot.sizes.empty()) slot.sizes[kept] = slot.sizes[i];
      if (!slot.files.empty()) slot.files[kept] = slot.files[i];
    }
    ++kept;
  }
  return kept;
}

// Copies of the samples, one after the other, up to `count`.
void repeat_samples(Slot& slot, std::size_t count, std::size_t sample_bytes, std::size_t classes) {
  const auto copy = [](auto* data, std::size_t to, std::size_t from, std::size_t each) {
    std::copy_n(data + from * each, each, data + to * each);
  };
  for (std::size_t i = slot.kept; i < count; ++i) {
    const std::size_t from = i - slot.kept;  // which is a copy itself behind the first ones
    copy(slot.memory->data(), i, from, sample_bytes);
    copy(slot.targets.data(), i, from, classes);
    slot.labels[i] = slot.labels[from];
    slot.ids[i] = slot.ids[from];
    if (!slot.sizes.empty()) slot.sizes[i] = slot.sizes[from];
    if (!slot.files.empty()) slot.files[i] = slot.files[from];
  }
  slot.kept = count;
}

}  // namespace

// What is done once all samples of a batch are there, by the thread that did the last of them.
void Loader::State::complete(Slot& slot) {
  slot.size = plan.size_at(slot.epoch);
  const std::size_t sample_bytes = storer.sample_bytes(slot.size);
  slot.kept = slot.samples;
  slot.valid = slot.real;
  if (plan.spec.errors.policy == OnError::kSkip) {
    slot.valid = static_cast<std::size_t>(
        std::count(slot.good.begin(), slot.good.begin() + static_cast<std::ptrdiff_t>(slot.real), std::uint8_t{1}));
    slot.kept = compact(slot, sample_bytes);
  }
  if (slot.failure || slot.kept == 0) return;
  if (plan.padded) {
    const std::span<const PixelExtent> sizes(slot.sizes.data(), slot.kept);
    if (plan.spec.batch.pad.to == PadTo::kLargest) slot.size = largest_of(sizes);
    pad_samples(slot.memory->data(), sample_bytes, sizes, slot.size, plan.spec.output,
                fill_pixel(storer, plan.spec.batch.pad.value),
                slot.memory->data() + static_cast<std::size_t>(plan.spec.batch.size) * sample_bytes);
  }
  operate_on_batch(slot);
  if (plan.spec.batch.last == LastBatch::kPad && !slot.failure)
    repeat_samples(slot, static_cast<std::size_t>(plan.spec.batch.size), storer.sample_bytes(slot.size), plan.classes);
}

void Loader::State::operate_on_batch(Slot& slot) {
  if (plan.batch_operations.empty()) return;
  for (std::size_t i = 0; i < slot.kept; ++i) {
    if (slot.labels[i] >= 0 && slot.labels[i] < static_cast<std::int64_t>(plan.classes)) continue;
    slot.failure =
        Error(ErrorKind::kInput, fmt::format("{}: label {}, expected 0 to {} for the batch operations",
                                             plan.dataset->location(slot.ids[i]), slot.labels[i], plan.classes - 1));
    return;
  }
  const std::span targets(slot.targets.data(), slot.kept * plan.classes);
  write_one_hot({slot.labels.data(), slot.kept}, plan.classes, targets);
  const BatchPixels pixels{slot.memory->data(),     slot.kept, slot.size,   plan.spec.output.type,
                           plan.spec.output.layout, targets,   plan.classes};
  const std::uint64_t place = order.order(slot.epoch).place(slot.batch);
  const auto& operations = plan.batch_operations_at(slot.epoch);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    // Streams of the samples' operations count from 0.
    Random random(plan.spec.order.seed, slot.epoch, place, 0x8000'0000U + static_cast<std::uint32_t>(i));
    operations[i]->apply(pixels, random);
  }
}

}  // namespace unstarve
