#include "unstarve/jobs/ladder/rig.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/machine/cpu_split.h"
#include "unstarve/device/device.h"
#include "unstarve/observe/accelerator.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

namespace {

// A share of the learning rate that changes the weights but never diverges within a few hundred steps.
constexpr double kProbeRateShare = 0.1;
// A GPU records the steps of each of two slots of batches after three others.
constexpr int kRecordedSteps = 10;
constexpr int kQueuedSteps = 16;  // of a resident batch

}  // namespace

PipelineSpec with_full_batches(PipelineSpec pipeline, std::uint64_t samples) {
  std::uint64_t& repeat = pipeline.order.repeat;
  if (pipeline.order.epoch > 0) samples = pipeline.order.epoch;
  const std::uint64_t batch = static_cast<std::uint64_t>(pipeline.batch.size) *
                              static_cast<std::uint64_t>(pipeline.order.world);  // of all ranks
  if (samples > 0 && samples * repeat < batch) repeat = (batch + samples - 1) / samples;
  return pipeline;
}

EpochPosition start_of_measurement(const PipelineSpec& pipeline, std::uint64_t samples, std::uint32_t number) {
  const OrderSpec& order = pipeline.order;
  const bool scheduled =
      !changing_epochs(pipeline.operations).empty() || !changing_epochs(pipeline.batch_operations).empty();
  if (order.shuffle && order.window == 0 && !scheduled) return {.epoch = number};
  // Multiples of the golden ratio are far from each other. Those in the first half rarely reach the next epoch.
  const double turns = number * std::numbers::phi;
  const std::uint64_t length =
      order.epoch > 0 ? order.epoch : std::min(samples, pipeline.source.take.value_or(samples));
  return {.offset = static_cast<std::uint64_t>((turns - std::floor(turns)) * 0.5 * static_cast<double>(length))};
}

Rig::Rig(const Settings& settings, const std::shared_ptr<const Dataset>& dataset, const Target& target,
         std::uint32_t measurement)
    : settings_(settings) {
  device_ = open_device(target.cuda() ? target.name : "cpu");
  if (target.emulated()) {
    accelerator_ =
        std::make_unique<EmulatedAccelerator>(find_accelerator(target.accelerator()), settings_.pipeline.batch.size);
  } else {
    settings_.train.device = target.name;
    split_ = make_cpu_split(settings_);
    trainer_ = make_trainer(settings_.train);
    if (!device_->is_host()) trainer_->enable_timing(true);  // use_device_times()
  }
  Loader::Options options;
  options.start = start_of_measurement(settings_.pipeline, dataset->size(), measurement);
  options.check_data = false;
  if (!device_->is_host()) options.consumer = Consumer::kNormalises;
  const CpuSplit::LoaderScope cpus(split_.get());
  loader_ = std::make_unique<Loader>(with_full_batches(settings_.pipeline, dataset->size()), dataset, *device_,
                                     std::move(options));
}

Rig::~Rig() = default;

std::int64_t Rig::nominal_step_ns() const { return accelerator_ ? accelerator_->step_ns() : 0; }

HostBatch Rig::host_batch(const Batch& batch) {
  const Plan& plan = loader_->plan();
  std::span<const std::int64_t> labels = batch.labels();
  // The time of a step does not depend on the labels.
  if (plan.facts.label_field < 0) zeros_.assign(labels.size(), 0), labels = zeros_;
  return {batch.pixels(), labels, batch.size(), plan.store().format, batch.pinned(), batch.targets()};
}

void Rig::compute() {
  if (accelerator_)
    accelerator_->step();
  else
    trainer_->step(settings_.train.learning_rate * kProbeRateShare);
}

StepParts Rig::step() {
  StepParts parts;
  const std::int64_t start = steady_clock().now_ns();
  std::optional<Batch> batch = loader_->next();
  if (!batch) throw Error(ErrorKind::kCancelled, "the loader was closed");
  const std::int64_t got = steady_clock().now_ns();
  if (trainer_) trainer_->load(host_batch(*batch));
  const std::int64_t copied = steady_clock().now_ns();
  compute();
  parts.begin_ns = start;
  parts.wait_ns = got - start;
  parts.copy_ns = copied - got;
  parts.compute_ns = steady_clock().now_ns() - copied;
  if (trainer_) parts.network = trainer_->times();
  if (!device_->is_host()) use_device_times(parts);
  held_ = std::make_unique<Batch>(std::move(*batch));
  return parts;
}

void Rig::warm_up() {
  if (trainer_ && !device_->is_host())
    for (int i = 0; i < kRecordedSteps; ++i) step();
  run(0, 1);
}

template <class Step>
Block Rig::measure(double seconds, int min_steps, const Step& one_step) {
  Block block;
  const std::int64_t start = steady_clock().now_ns();
  const auto deadline = start + static_cast<std::int64_t>(seconds * 1e9);
  while (block.steps < min_steps || steady_clock().now_ns() < deadline) {
    one_step(block);
    ++block.steps;
    block.samples += static_cast<std::int64_t>(held_->samples());
  }
  if (trainer_) trainer_->synchronise();
  block.wall_ns = steady_clock().now_ns() - start;
  return block;
}

Block Rig::run(double seconds, int min_steps, std::vector<StepParts>* parts, bool untimed) {
  const double begin = seconds_now();
  for (int i = 0; untimed && i <= settings_.pipeline.execution.prefetch; ++i) {
    if (i > 0 && seconds_now() - begin >= seconds) break;
    step();
  }
  if (trainer_) trainer_->synchronise();
  const std::int64_t nominal_before = accelerator_ ? accelerator_->nominal_compute_ns() : 0;
  Block block = measure(seconds, min_steps, [&](Block& so_far) {
    const StepParts now = step();
    so_far.wait_ns += now.wait_ns;
    so_far.nominal_ns += now.compute_ns;
    if (parts) parts->push_back(now);
  });
  loader_->pause();  // other settings or parts may be measured now
  if (accelerator_) block.nominal_ns = accelerator_->nominal_compute_ns() - nominal_before;
  return block;
}

Block Rig::run_resident(double seconds, int min_steps) {
  if (!held_) step();
  loader_->pause();
  if (trainer_) {
    trainer_->load(host_batch(*held_));
    trainer_->synchronise();
  }
  Block block = measure(seconds, min_steps, [&](const Block& so_far) {
    compute();
    // No batch is loaded, which would wait for the GPU: it could have minutes of work at the deadline.
    if (trainer_ && (so_far.steps + 1) % kQueuedSteps == 0) trainer_->synchronise();
  });
  block.nominal_ns = block.wall_ns;
  return block;
}

// On a GPU the host only queues the work, so its times say nothing about the device. The step that the device has done
// took its compute time, and then waited for the batch or, for the rest, for the copy and the launch.
void Rig::use_device_times(StepParts& parts) {
  if (parts.network.compute_ms() <= 0) return;  // the first step, or timing is off
  const auto idle_ns = static_cast<std::int64_t>(1e6 * parts.network.idle_ms);
  parts.compute_ns = static_cast<std::int64_t>(1e6 * parts.network.compute_ms());
  parts.wait_ns = std::min(parts.wait_ns, idle_ns);
  parts.copy_ns = idle_ns - parts.wait_ns;
}

double Rig::loss() {
  if (!trainer_) throw Error(ErrorKind::kArgument, "an emulated accelerator has no loss");
  return trainer_->loss();
}

}  // namespace unstarve
