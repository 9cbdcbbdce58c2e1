#pragma once
// For the tests of tuning: a dataset whose reads sleep, and a run with its profile and explanation.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "unstarve/pipeline/executor/loader_fixtures.h"

namespace unstarve {

// Every read sleeps; reads_in_flight() is as specified.
class SleepyJpegSet final : public JpegSet {
 public:
  explicit SleepyJpegSet(std::uint64_t count, std::chrono::microseconds sleep, int reads = 0)
      : JpegSet(count), sleep_(sleep), reads_(reads) {}
  int reads_in_flight() const override { return reads_; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    std::this_thread::sleep_for(sleep_);
    JpegSet::read(id, record);
  }

 private:
  std::chrono::microseconds sleep_;
  int reads_;
};

inline PipelineSpec tuned_spec(int batch) {
  PipelineSpec spec = small_spec(batch, 0);
  spec.execution.autotune = true;
  return spec;
}

struct TunedRun {
  std::vector<Seen> seen;
  Profile profile;
  std::string explained;
};

inline TunedRun run_loader(const PipelineSpec& spec, std::shared_ptr<const Dataset> dataset, std::uint32_t epochs) {
  const auto device = open_device("cpu");
  Loader loader(spec, std::move(dataset), *device, {{}, epochs});
  TunedRun run;
  while (const auto batch = loader.next()) run.seen.push_back(see(*batch));
  run.profile = loader.profile();
  run.explained = loader.explain();
  return run;
}

}  // namespace unstarve
