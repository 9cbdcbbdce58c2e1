#include "unstarve/pipeline/executor/complete_batch.h"

#include <algorithm>
#include <span>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/pipeline/delivery/slot.h"
#include "unstarve/pipeline/executor/pad_batch.h"
#include "unstarve/pipeline/executor/run.h"

namespace unstarve {
namespace {

void execute(const CompactStep&, const Run& run, Slot& slot) {
  const auto good = slot.arrays.good.begin();
  const auto real = static_cast<std::ptrdiff_t>(slot.batch.real);
  slot.delivered.valid = static_cast<std::size_t>(std::count(good, good + real, std::uint8_t{1}));
  slot.delivered.samples = slot.arrays.compact(slot.batch.samples, run.storer.sample_bytes(slot.delivered.size));
}

void execute(const PadStep&, const Run& run, Slot& slot) {
  const std::size_t sample_bytes = run.storer.sample_bytes(slot.delivered.size);
  const std::span<const PixelExtent> sizes(slot.arrays.sizes.data(), slot.delivered.samples);
  const BatchSpec& batch = run.plan.spec.batch;
  if (batch.pad.to == PadTo::kLargest) slot.delivered.size = largest_of(sizes);
  const PaddedFormat format{slot.delivered.size, run.plan.store().format, fill_pixel(run.storer, batch.pad.value)};
  pad_samples(slot.arrays.memory->data(), sample_bytes, sizes, format,
              slot.arrays.memory->data() + static_cast<std::size_t>(batch.size) * sample_bytes);
}

void execute(const OneHotStep&, const Run& run, Slot& slot) {
  const std::size_t classes = run.plan.target_classes();
  for (std::size_t i = 0; i < slot.delivered.samples; ++i)
    if (slot.arrays.labels[i] < 0 || slot.arrays.labels[i] >= static_cast<std::int64_t>(classes))
      throw input_error("{}: label {}; expected 0 to {} for the batch operations",
                        run.resources.dataset->location(slot.arrays.ids[i]), slot.arrays.labels[i], classes - 1);
  write_one_hot({slot.arrays.labels.data(), slot.delivered.samples}, classes,
                {slot.arrays.targets.data(), slot.delivered.samples * classes});
}

void execute(const BatchApplyStep& step, const Run& run, Slot& slot) {
  const std::size_t classes = run.plan.target_classes();
  const StoreFormat& output = run.plan.store().format;
  const std::span<float> targets(slot.arrays.targets.data(), slot.delivered.samples * classes);
  const BatchPixels pixels{slot.arrays.memory->data(),
                           slot.delivered.samples,
                           slot.delivered.size,
                           output.type,
                           output.layout,
                           targets,
                           classes};
  Random random(run.plan.spec.order.seed, slot.batch.epoch,
                run.run_order.of_epoch(slot.batch.epoch).batch_position(slot.batch.index),
                kBatchOperationStreams + step.op);
  run.plan.stage(slot.batch.epoch).batch_operations[step.op]->apply(pixels, random);
}

void execute(const RepeatStep&, const Run& run, Slot& slot) {
  const auto samples = static_cast<std::size_t>(run.plan.spec.batch.size);
  slot.arrays.repeat(slot.delivered.samples, samples, run.storer.sample_bytes(slot.delivered.size));
  slot.delivered.samples = samples;
}

}  // namespace

// Without batch operations, padding and skipped samples there are no batch steps.
void complete_batch(const Run& run, Slot& slot) {
  slot.delivered.size = run.plan.size_at(slot.batch.epoch);
  slot.delivered.samples = slot.batch.samples;
  slot.delivered.valid = slot.batch.real;
  for (const BatchStep& step : run.plan.batch_steps) {
    if (slot.fill.failure() || slot.delivered.samples == 0) break;
    std::visit([&](const auto& each) { execute(each, run, slot); }, step);
  }
  slot.delivered.pixel_bytes = slot.delivered.samples * run.storer.sample_bytes(slot.delivered.size);
}

}  // namespace unstarve
