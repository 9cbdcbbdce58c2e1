#pragma once
// A loader and its consumer, put together from settings: the thing that bench and tune measure.
//
// The consumer is a network that trains (on the processor or a GPU) or an emulated accelerator that holds each batch
// for its nominal time. A step is: wait for a batch, bring it over, compute; its parts are timed so that they sum to
// the step's wall time.
//
// Ownership: owns loader, device and trainer; shares the data set. Threads: one thread. Failure: as Loader and Trainer.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/device/device.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/observe/accelerator.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// "cpu", "cuda", "cuda:N" or "emulated:<name>".
struct Target {
  std::string name = "cpu";
  [[nodiscard]] bool emulated() const { return name.starts_with("emulated:"); }
  [[nodiscard]] bool cuda() const { return name.starts_with("cuda"); }
  [[nodiscard]] std::string accelerator() const { return name.substr(9); }
};
// Throws Error(kArgument) that lists what is known.
[[nodiscard]] Target parse_target(const std::string& name);

// Wall time of a step's parts, in nanoseconds; on an emulated accelerator compute is the time held.
struct StepParts {
  std::int64_t wait_ns = 0;  // for the loader
  std::int64_t copy_ns = 0;  // to the device, as far as the host waits for it
  std::int64_t compute_ns = 0;
  StepTimes network;  // compute's parts, when timing is on
  [[nodiscard]] std::int64_t total_ns() const { return wait_ns + copy_ns + compute_ns; }
};

struct Block {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  std::int64_t wall_ns = 0;
  std::int64_t wait_ns = 0;
  std::int64_t nominal_ns = 0;  // compute time that was owed: emulated nominal time, or measured compute
  [[nodiscard]] double samples_per_s() const {
    return wall_ns > 0 ? static_cast<double>(samples) * 1e9 / static_cast<double>(wall_ns) : 0;
  }
  [[nodiscard]] double utilisation() const {
    return wall_ns > 0 ? static_cast<double>(nominal_ns) / static_cast<double>(wall_ns) : 0;
  }
};

class Rig {
 public:
  Rig(const Settings& settings, std::shared_ptr<const Dataset> dataset, const Target& target);

  // One training step with a fresh batch.
  StepParts step();
  // Steps until `seconds` have passed, at least `min_steps`. Batches that were made ahead while the rig stood still are
  // used up first, untimed, so that a block shows the steady state.
  Block run(double seconds, int min_steps, std::vector<StepParts>* parts = nullptr);

  // Compute on one resident batch: what the accelerator does when it is never starved.
  Block run_resident(double seconds, int min_steps);

  // The latest batch's mean loss; not for an emulated accelerator.
  [[nodiscard]] double loss();
  [[nodiscard]] Loader& loader() { return *loader_; }
  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] Trainer* trainer() { return trainer_.get(); }
  [[nodiscard]] const Settings& settings() const { return settings_; }

 private:
  void compute();

  Settings settings_;
  std::unique_ptr<Device> device_;  // for the loader's slots; before loader_, which it must outlive
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<EmulatedAccelerator> accelerator_;
  std::optional<Batch> held_;  // the trainer may still read it until the next one has been loaded
};

}  // namespace unstarve
