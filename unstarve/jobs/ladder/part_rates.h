#pragma once
// The rates of storage and loader, each alone. `bench` and `capacity` measure them.
//
// Threads: one caller. Failure: as Dataset and Loader.

#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/pipeline/order/position.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

class Dataset;
class Device;
class Loader;

struct StorageRate {
  double samples_per_s = 0;
  double bytes_per_s = 0;  // of records
};
// Reads records in epoch order for `seconds` with `threads` threads, without decoding. Unreadable records are skipped:
// the error policy of the loader handles them. `loader`: of the same dataset; defines the order. `begin`: as
// start_of_measurement() (rig.h), so that the samples are not in the page cache yet.
[[nodiscard]] StorageRate storage_rate(const Dataset& dataset, const Loader& loader, double seconds, int threads = 1,
                                       const EpochPosition& begin = {});

struct LoaderRate {
  double samples_per_s = 0;
  double cores_busy = 0;
  double cores_delayed = 0;  // that its threads were ready to use, but did not get; 0: not reported
  std::vector<StageProfile> stages;
};
// A loader whose batches are released on receipt, and which begins at `begin`. Takes `seconds`, but at least two
// batches, of which the second one is measured.
[[nodiscard]] LoaderRate loader_rate(const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset,
                                     Device& device, double seconds, const EpochPosition& begin = {});

// CPU time of this process so far.
[[nodiscard]] std::int64_t process_cpu_ns();

}  // namespace unstarve
