#pragma once
// The images of an evaluation or a calibration, opened once and run through engines several times.
//
// Threads: one caller. Failure: Error(kInput) without images; as Loader, EngineProcess and EngineFeed.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "unstarve/infer/engines/engine_process.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/inference/engine_feed.h"
#include "unstarve/jobs/inference/evaluation_pipeline.h"

namespace unstarve {

class SampleSet;

struct EvaluationImages {
  EvaluationData data;
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const SampleSet> samples;  // not empty

  [[nodiscard]] std::uint64_t size() const;
};

// `of_model`: as of EvaluationData.
[[nodiscard]] EvaluationImages open_images(EvaluationData data, std::optional<Normalisation> of_model);

struct ImageRun {
  std::string what{};        // begins the messages
  std::uint64_t images = 0;  // 0: all. Those that cannot be read count, so that runs that `skip` them have no others
  // Images are chosen at random if there are `images`, or some to `skip`; otherwise they are in storage order.
  std::uint64_t skip = 0;
  std::uint64_t seed = 0;
  bool labels = false;  // whether they are checked (Loader::Options::check_data)
  Progress progress{};
  std::stop_token stop{};
};

struct CompiledEngine {
  EngineProcess& engine;
  int image_size = 0;         // px
  EngineSettings settings{};  // for which it is compiled
};

// Runs images through an engine. `use` gets each batch in order, of the last one only the requested samples. Returns
// their number; images that cannot be read are left out or an error, by the policy of the data. Throws
// Error(kCancelled) after a stop.
std::uint64_t run_images(const CompiledEngine& compiled, const EvaluationImages& images, const ImageRun& run,
                         const EngineFeed::Use& use);

}  // namespace unstarve
