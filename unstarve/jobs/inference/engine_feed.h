#pragma once
// Feeds an engine with the batches of a loader: several are in flight, results are in the order of the batches.
//
// Ownership: borrows engine and loader. Threads: one.
// Failure:   as both; Error(kInput) for a batch of another size of images.

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/infer/engines/engine_process.h"
#include "unstarve/pipeline/executor/loader.h"

namespace unstarve {

// The samples of a batch, without those that fill it up.
struct FedSamples {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> labels;
};

class EngineFeed {
 public:
  // `engine` is compiled for batches of the loader, with images of `image_size` px. `what` begins the messages.
  EngineFeed(EngineProcess& engine, Loader& loader, int image_size, std::string what);

  // Calls `use` with the outputs of each batch, until the loader or the stop ends the run. False: stopped before the
  // last batch.
  using Use = std::function<void(const FedSamples& samples, std::span<const float> outputs)>;
  [[nodiscard]] bool run(const Use& use, const std::stop_token& stop);

  // In which run() waited, in seconds.
  [[nodiscard]] double loader_wait_s() const { return loader_wait_s_; }
  [[nodiscard]] double engine_wait_s() const { return engine_wait_s_; }

 private:
  void start(int request, const Batch& batch);
  void collect(int request, const Use& use);

  EngineProcess& engine_;
  Loader& loader_;
  int image_size_;
  std::string what_;
  std::vector<FedSamples> in_flight_;  // by request
  double loader_wait_s_ = 0, engine_wait_s_ = 0;
};

}  // namespace unstarve
