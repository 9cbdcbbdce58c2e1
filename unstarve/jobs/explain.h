#pragma once
// `unstarve explain SPEC|DATA`: show the plan of a run: settings, passes (applied, exact, reason), the decode of the
// first image, sizes after each operation, and the settings chosen automatically.
//
// Reads only the first records: starts no threads and creates no cache files.
//
// Threads: one caller. Failure: as open_dataset() and plan_run().

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/core/machine/topology.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/pipeline/plan/decode_notes.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct ExplainedOperation {
  OpSpec spec;
  Size input, output;  // for the first readable image
  bool random = false;
};

// The effective value of a setting and the reason for it.
struct ExplainedSetting {
  std::string name;   // path in the spec: "execution.threads"
  std::string value;  // "2"
  std::string reason;
};

struct ExplainResult {
  Settings settings;  // as requested
  std::string format;
  std::uint64_t samples = 0;  // after filters
  std::uint64_t classes = 0;
  bool encoded = false;  // encoded images; false: pixels
  Size image;            // the first readable image
  std::vector<ExplainedOperation> operations;
  Size sample_size;                // after the last operation
  std::uint64_t batches = 0;       // per epoch and rank
  std::uint64_t batch_bytes = 0;   // pixels of one batch
  std::uint64_t memory_bytes = 0;  // of all batch slots
  std::string first_program;       // program_text() before all passes
  std::vector<PassNote> passes;
  std::vector<DecodeNote> decode;  // of the first image; empty if samples are stored as pixels
  std::vector<ExplainedSetting> chosen;
  std::string plan;  // pipeline's explain()
};

// `device`: "cpu", "cuda[:N]" or "emulated:..." (fed from the host).
[[nodiscard]] ExplainResult run_explain(const Settings& settings, const std::string& device);
// The same for an open dataset and a given machine topology.
[[nodiscard]] ExplainResult explain_settings(const Settings& settings, const std::string& device,
                                             std::shared_ptr<const Dataset> dataset, const Topology& topology);

// Ten lines: data, operations, sizes, effective settings, applied passes.
[[nodiscard]] std::string to_summary(const ExplainResult& result);
// The program before all passes; the passes in their order, each with the program after it, or the reason why it does
// not apply.
[[nodiscard]] std::string to_programs(const ExplainResult& result);
// Everything.
[[nodiscard]] std::string to_text(const ExplainResult& result);
// See "explain" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const ExplainResult& result);

}  // namespace unstarve
