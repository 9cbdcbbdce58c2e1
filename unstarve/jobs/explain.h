#pragma once
// `unstarve explain SPEC|DATA`: what would run, before it runs: the settings, every pass of the plan with whether it
// applies, whether it keeps the pixels exact, and why; how the first image is decoded; the sizes on the way; what the
// machine and the data decided.
//
// Nothing is started and no cache file is made; the headers of the first records are read.
// Threads: one caller. Failure: as open_dataset() and plan_run().

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/core/topology.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/pipeline/plan/decode_notes.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

struct ExplainedOperation {
  OpSpec spec;
  Size input, output;  // for the first image that can be read
  bool random = false;
};

// A setting as it will be in force, and what decided it.
struct ExplainedSetting {
  std::string name;   // the node of the spec: "execution.threads"
  std::string value;  // "2"
  std::string reason;
};

struct ExplainResult {
  Settings settings;  // as asked for
  std::string format;
  std::uint64_t samples = 0;  // that take part
  std::uint64_t classes = 0;
  bool encoded = false;  // images that are decoded, else pixels
  Size image;            // of the first that can be read
  std::vector<ExplainedOperation> operations;
  Size sample_size;                // behind the last operation
  std::uint64_t batches = 0;       // per epoch and rank
  std::uint64_t batch_bytes = 0;   // pixels of one batch
  std::uint64_t memory_bytes = 0;  // of all batches that the loader holds
  std::vector<PassNote> passes;
  std::vector<DecodeNote> decode;  // of the first image; none where samples are stored as pixels
  std::vector<ExplainedSetting> chosen;
  std::string plan;  // pipeline's explain()
};

// `device`: "cpu", "cuda[:N]" or "emulated:...", which is fed from the host.
[[nodiscard]] ExplainResult run_explain(const Settings& settings, const std::string& device);
// The same for a data set that is open already, on a machine as `topology` says.
[[nodiscard]] ExplainResult explain_settings(const Settings& settings, const std::string& device,
                                             std::shared_ptr<const Dataset> dataset, const Topology& topology);

[[nodiscard]] std::string to_text(const ExplainResult& result);
// One object: settings (as the settings file), plan (format, samples, classes, encoded, image [width, height],
// operations[] (name, params, input, output, random), sample_size, batch, batches, batch_bytes, memory_bytes), passes[]
// (name, applied, exact, reason), decode[] (name, value, reason) of the first image, chosen[] (name, value, reason).
[[nodiscard]] std::string to_json(const ExplainResult& result);

}  // namespace unstarve
