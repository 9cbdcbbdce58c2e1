#include "unstarve/pipeline/executor/complete_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/pipeline/delivery/slot_pool.h"
#include "unstarve/pipeline/executor/pad_batch.h"
#include "unstarve/pipeline/executor/run.h"

namespace unstarve {
namespace {

// Closes the gaps that skipped samples leave, and returns the number of remaining samples.
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

// Appends copies of the samples, in order, up to `count`.
void repeat_samples(Slot& slot, std::size_t count, std::size_t sample_bytes, std::size_t classes) {
  const auto copy = [](auto* data, std::size_t to, std::size_t from, std::size_t each) {
    std::copy_n(data + from * each, each, data + to * each);
  };
  for (std::size_t i = slot.kept; i < count; ++i) {
    const std::size_t from = i - slot.kept;  // may be a copy itself
    copy(slot.memory->data(), i, from, sample_bytes);
    copy(slot.targets.data(), i, from, classes);
    slot.labels[i] = slot.labels[from];
    slot.ids[i] = slot.ids[from];
    if (!slot.sizes.empty()) slot.sizes[i] = slot.sizes[from];
    if (!slot.files.empty()) slot.files[i] = slot.files[from];
  }
  slot.kept = count;
}

void execute(const CompactStep&, const Run& run, Slot& slot) {
  const auto good = slot.good.begin();
  slot.valid =
      static_cast<std::size_t>(std::count(good, good + static_cast<std::ptrdiff_t>(slot.real), std::uint8_t{1}));
  slot.kept = compact(slot, run.storer.sample_bytes(slot.size));
}

void execute(const PadStep&, const Run& run, Slot& slot) {
  const std::size_t sample_bytes = run.storer.sample_bytes(slot.size);
  const std::span<const PixelExtent> sizes(slot.sizes.data(), slot.kept);
  const BatchSpec& batch = run.plan.spec.batch;
  if (batch.pad.to == PadTo::kLargest) slot.size = largest_of(sizes);
  const PaddedFormat format{slot.size, run.plan.store().format, fill_pixel(run.storer, batch.pad.value)};
  pad_samples(slot.memory->data(), sample_bytes, sizes, format,
              slot.memory->data() + static_cast<std::size_t>(batch.size) * sample_bytes);
}

void execute(const OneHotStep&, const Run& run, Slot& slot) {
  const std::size_t classes = run.plan.target_classes();
  for (std::size_t i = 0; i < slot.kept; ++i)
    if (slot.labels[i] < 0 || slot.labels[i] >= static_cast<std::int64_t>(classes))
      throw Error(ErrorKind::kInput,
                  fmt::format("{}: label {}; expected 0 to {} for the batch operations",
                              run.resources.dataset->location(slot.ids[i]), slot.labels[i], classes - 1));
  write_one_hot({slot.labels.data(), slot.kept}, classes, {slot.targets.data(), slot.kept * classes});
}

void execute(const BatchApplyStep& step, const Run& run, Slot& slot) {
  const std::size_t classes = run.plan.target_classes();
  const StoreFormat& output = run.plan.store().format;
  const std::span<float> targets(slot.targets.data(), slot.kept * classes);
  const BatchPixels pixels{slot.memory->data(), slot.kept, slot.size, output.type, output.layout, targets, classes};
  Random random(run.plan.spec.order.seed, slot.epoch, run.run_order.of_epoch(slot.epoch).batch_position(slot.batch),
                kBatchOperationStreams + step.op);
  run.plan.stage(slot.epoch).batch_operations[step.op]->apply(pixels, random);
}

void execute(const RepeatStep&, const Run& run, Slot& slot) {
  repeat_samples(slot, static_cast<std::size_t>(run.plan.spec.batch.size), run.storer.sample_bytes(slot.size),
                 run.plan.target_classes());
}

}  // namespace

void complete_batch(const Run& run, Slot& slot) {
  slot.size = run.plan.size_at(slot.epoch);
  slot.kept = slot.samples;
  slot.valid = slot.real;
  for (const BatchStep& step : run.plan.batch_steps) {
    if (slot.failure || slot.kept == 0) break;
    std::visit([&](const auto& each) { execute(each, run, slot); }, step);
  }
  slot.pixel_bytes = slot.kept * run.storer.sample_bytes(slot.size);
}

}  // namespace unstarve
