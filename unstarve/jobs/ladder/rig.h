#pragma once
// A loader and its consumer, built from settings. `bench` and `tune` measure it.
//
// The consumer is a network that trains on a device, or an emulated accelerator that holds each batch for its nominal
// step time. A step waits for a batch, copies it and computes; the timed parts add up to the wall time of the step.
// Fewer samples than a batch repeat within an epoch (with_full_batches()).
//
// Ownership: owns loader, device and trainer; shares the dataset. Threads: one. Failure: as Loader and Trainer.

#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/jobs/ladder/step_profile.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/pipeline/order/position.h"

namespace unstarve {

class Batch;
class CpuSplit;
class Device;
class EmulatedAccelerator;
class Loader;

struct Block {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  std::int64_t wall_ns = 0;
  std::int64_t wait_ns = 0;
  std::int64_t nominal_ns = 0;  // compute time: nominal on an emulated accelerator, else measured
  [[nodiscard]] double samples_per_s() const {
    return wall_ns > 0 ? static_cast<double>(samples) * 1e9 / static_cast<double>(wall_ns) : 0;
  }
  [[nodiscard]] double step_ms() const {
    return steps > 0 ? static_cast<double>(wall_ns) / 1e6 / static_cast<double>(steps) : 0;
  }
  [[nodiscard]] double utilisation() const {
    return wall_ns > 0 ? static_cast<double>(nominal_ns) / static_cast<double>(wall_ns) : 0;
  }
};

// `pipeline` with enough passes per epoch that `samples` fill a batch of every rank: it may exceed a small dataset.
[[nodiscard]] PipelineSpec with_full_batches(PipelineSpec pipeline, std::uint64_t samples);

// Where measurement `number` of the same data begins: with other samples than those before, which are in the page cache
// by then. This is another epoch, or another position of the first one if all epochs have a similar order or if a
// schedule gives them other parameters, and so another speed. `samples`: of the data.
[[nodiscard]] EpochPosition start_of_measurement(const PipelineSpec& pipeline, std::uint64_t samples,
                                                 std::uint32_t number);

class Rig {
 public:
  Rig(const Settings& settings, const std::shared_ptr<const Dataset>& dataset, const Target& target,
      std::uint32_t measurement = 0);
  ~Rig();

  // One training step with a fresh batch.
  StepParts step();
  // Runs the first steps, which take longer: the first allocates memory, and in the first ten a GPU also chooses its
  // kernels and records graphs.
  void warm_up();
  // Runs steps for `seconds`, at least `min_steps`. Before that, untimed steps consume the prefetched batches, so that
  // a block shows the steady state: at least one step, and none that starts later than `seconds` after the first. A
  // consumer that slow does not wait for data, and prefetched batches do not change its rate: `untimed` false.
  Block run(double seconds, int min_steps, std::vector<StepParts>* parts = nullptr, bool untimed = true);

  // Computes on one resident batch, that of the last step or a new one: the rate of the consumer without waiting for
  // data.
  Block run_resident(double seconds, int min_steps);

  // Mean loss of the latest batch. Throws Error(kArgument) on an emulated accelerator.
  [[nodiscard]] double loss();
  [[nodiscard]] Loader& loader() { return *loader_; }
  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] Trainer* trainer() { return trainer_.get(); }
  [[nodiscard]] const CpuSplit* cpu_split() const { return split_.get(); }  // null: none
  [[nodiscard]] const Settings& settings() const { return settings_; }
  // Nominal compute time of a step on an emulated accelerator, 0 on a network.
  [[nodiscard]] std::int64_t nominal_step_ns() const;

 private:
  void compute();
  // Calls `one_step` with the block so far, for `seconds`, at least `min_steps` times.
  template <class Step>
  Block measure(double seconds, int min_steps, const Step& one_step);
  static void use_device_times(StepParts& parts);
  [[nodiscard]] HostBatch host_batch(const Batch& batch);

  Settings settings_;
  std::unique_ptr<CpuSplit> split_;  // null: none
  std::unique_ptr<Device> device_;   // of the loader's slots; must outlive loader_
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<EmulatedAccelerator> accelerator_;
  std::vector<std::int64_t> zeros_;  // labels of data without labels
  std::unique_ptr<Batch> held_;      // the trainer may read it until the next batch is loaded
};

}  // namespace unstarve
