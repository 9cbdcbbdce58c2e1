#pragma once
// The ledger of a compression: every step with its figures, and the best model so far.
//
//   propose() ──▶ accuracy ──▶ speed against the best model, in interleaved runs ──▶ kept: it is the best model now
//                     │                    │                                         reverted: it is forgotten
//                     ▼                    ▼
//             too large a loss       neither faster nor smaller
//
// A model whose outputs differ between two processes of the engine is an error: OpenVINO 2026.4 has such models, with
// layers in int8 and in float32.
//
// A step is kept if it is faster (the interval of the ratio is above 1), or smaller and not slower.
//
// Threads: one. Failure: the constructor throws if the original model cannot run; an error of a later step reverts it
// and is its reason; Error(kCancelled) after a stop.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/jobs/compress/accuracy.h"
#include "unstarve/jobs/compress/trial.h"
#include "unstarve/jobs/compress/trial_accuracy.h"

namespace unstarve {

enum class StepState { kOriginal, kKept, kReverted, kSkipped };
// "original", "kept", "reverted", "skipped"
[[nodiscard]] std::string_view name_of(StepState state) noexcept;

// Size of the ONNX file, and of it compressed by deflate at level 9.
struct ModelSize {
  std::uint64_t bytes = 0, zip_bytes = 0;
};
[[nodiscard]] ModelSize size_of(const infer::Graph& graph);

struct CompressStep {
  std::string name;    // "original", "fold", "int8", ...
  std::string change;  // "42 of 54 layers, limits by mse"
  StepState state = StepState::kSkipped;
  std::string reason{};  // why it was reverted or skipped
  // Measured as far as the step came: size, accuracy and loss, speed.
  ModelSize size{};
  std::optional<ShareInterval> accuracy{};
  std::optional<ShareInterval> loss{};   // against the original
  std::optional<RatioInterval> speed{};  // of a batch of 1, relative to the model before it
  double p50_ms = 0;                     // of a batch of 1
  std::string precision{};               // as CompiledFacts
  std::map<std::string, int> kernels{};  // as CompiledFacts
};

// The model that a step proposes.
struct Proposal {
  infer::Graph graph;
  std::string engine;
  EngineSettings settings{};
  bool same_results = false;  // as the best model: its accuracy is known
  bool int8 = false;          // an engine that computes nothing in int8 is an error
};

struct LedgerOptions {
  std::string engine;  // of the original
  std::string program;
  EngineSettings settings{};
  double max_accuracy_loss = 0;
  ComparisonEffort effort{};
};

class StepLedger {
 public:
  // Borrows images, progress and stop. Runs the original model.
  StepLedger(const infer::Graph& original, LedgerOptions options, const AccuracyImages& images,
             const Progress& progress, const std::stop_token& stop);

  // `make` may throw, too. Returns the step.
  const CompressStep& propose(std::string name, std::string change, const std::function<Proposal()>& make);
  void skip(std::string name, std::string reason);

  [[nodiscard]] Trial& best() { return *best_; }
  // A proposal that changes only the graph of the best model.
  [[nodiscard]] Proposal with_graph(infer::Graph graph) const {
    return {std::move(graph), best_->engine(), best_->settings()};
  }
  [[nodiscard]] TrialAccuracy& accuracy() { return *accuracy_; }
  [[nodiscard]] const LedgerOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<CompressStep>& steps() const { return steps_; }

 private:
  void check(CompressStep& step, Proposal proposal);
  void require_repeatable(Trial& trial);

  LedgerOptions options_;
  const std::stop_token& stop_;
  std::optional<Trial> best_;
  ModelSize best_size_;
  std::vector<bool> best_right_;
  std::optional<TrialAccuracy> accuracy_;
  std::vector<CompressStep> steps_;
};

}  // namespace unstarve
