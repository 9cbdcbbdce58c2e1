// What becomes of the samples of a batch once all of them are there.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "unstarve/ops/batch/batch_operation.h"
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

void Loader::State::complete(Slot& slot) {
  slot.size = plan.size_at(slot.epoch);
  slot.kept = slot.samples;
  slot.valid = slot.real;
  for (const BatchStep& step : plan.batch_steps) {
    if (slot.failure || slot.kept == 0) return;
    std::visit([&](const auto& each) { run(each, slot); }, step);
  }
}

void Loader::State::run(const CompactStep&, Slot& slot) {
  const auto good = slot.good.begin();
  slot.valid =
      static_cast<std::size_t>(std::count(good, good + static_cast<std::ptrdiff_t>(slot.real), std::uint8_t{1}));
  slot.kept = compact(slot, storer.sample_bytes(slot.size));
}

void Loader::State::run(const PadStep&, Slot& slot) {
  const std::size_t sample_bytes = storer.sample_bytes(slot.size);
  const std::span<const PixelExtent> sizes(slot.sizes.data(), slot.kept);
  if (plan.spec.batch.pad.to == PadTo::kLargest) slot.size = largest_of(sizes);
  pad_samples(slot.memory->data(), sample_bytes, sizes, slot.size, plan.output,
              fill_pixel(storer, plan.spec.batch.pad.value),
              slot.memory->data() + static_cast<std::size_t>(plan.spec.batch.size) * sample_bytes);
}

void Loader::State::run(const OneHotStep&, Slot& slot) {
  const std::size_t classes = plan.target_classes();
  for (std::size_t i = 0; i < slot.kept; ++i) {
    if (slot.labels[i] >= 0 && slot.labels[i] < static_cast<std::int64_t>(classes)) continue;
    slot.failure =
        Error(ErrorKind::kInput, fmt::format("{}: label {}; expected 0 to {} for the batch operations",
                                             resources.dataset->location(slot.ids[i]), slot.labels[i], classes - 1));
    return;
  }
  write_one_hot({slot.labels.data(), slot.kept}, classes, {slot.targets.data(), slot.kept * classes});
}

void Loader::State::run(const BatchApplyStep& step, Slot& slot) {
  const std::size_t classes = plan.target_classes();
  const BatchPixels pixels{slot.memory->data(),
                           slot.kept,
                           slot.size,
                           plan.output.type,
                           plan.output.layout,
                           {slot.targets.data(), slot.kept * classes},
                           classes};
  // The streams of the samples' operations count from 0.
  Random random(plan.spec.order.seed, slot.epoch, order.order(slot.epoch).samples_before_batch(slot.batch),
                0x8000'0000U + step.op);
  plan.stage(slot.epoch).batch_operations[step.op]->apply(pixels, random);
}

void Loader::State::run(const RepeatStep&, Slot& slot) {
  repeat_samples(slot, static_cast<std::size_t>(plan.spec.batch.size), storer.sample_bytes(slot.size),
                 plan.target_classes());
}

}  // namespace unstarve
