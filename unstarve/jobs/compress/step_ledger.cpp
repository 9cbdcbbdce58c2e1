#include "unstarve/jobs/compress/step_ledger.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/engines/compare_engines.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/jobs/inference/first_engine.h"

namespace unstarve {
namespace {

// Larger than what another order of additions changes, and the roundings to other steps of int8 that follow from it.
constexpr double kRepeatable = 0.05;

ShareInterval share_of(const std::vector<bool>& right) {
  return share_interval(static_cast<std::uint64_t>(std::ranges::count(right, true)), right.size());
}

void describe(CompressStep& step, Trial& trial) {
  step.size = size_of(trial.graph());
  step.precision = trial.process().compiled().precision;
  step.kernels = trial.process().compiled().kernels;
}

void require_int8(const CompressStep& step, const std::string& engine) {
  if (step.kernels.empty()) return;  // the engine does not report them
  const auto is_int8 = [](const auto& kernel) { return is_int8_kernel(kernel.first); };
  if (std::ranges::none_of(step.kernels, is_int8))
    throw Error(ErrorKind::kInput, fmt::format("engine {} computes no layer in int8", engine));
}

}  // namespace

std::string_view name_of(StepState state) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"original", "kept", "reverted", "skipped"};
  return kNames[static_cast<std::size_t>(state)];
}

ModelSize size_of(const infer::Graph& graph) {
  const std::string file = infer::format_onnx(graph);
  uLongf bytes = ::compressBound(file.size());
  std::vector<Bytef> deflated(bytes);
  const int failure = ::compress2(deflated.data(), &bytes, reinterpret_cast<const Bytef*>(file.data()), file.size(),
                                  Z_BEST_COMPRESSION);
  if (failure != Z_OK) throw Error(ErrorKind::kInternal, fmt::format("compress: zlib returned {}", failure));
  return {file.size(), bytes};
}

StepLedger::StepLedger(const infer::Graph& original, LedgerOptions options, const AccuracyImages& images,
                       const Progress& progress, const std::stop_token& stop)
    : options_(std::move(options)), stop_(stop) {
  best_.emplace(original, options_.engine, options_.settings, options_.program);
  accuracy_.emplace(images, *best_, progress, stop);
  best_right_ = accuracy_->original_right();
  CompressStep step{"original", options_.engine, StepState::kOriginal};
  describe(step, *best_);
  best_size_ = step.size;
  step.accuracy = share_of(best_right_);
  step.p50_ms = measure_engine(best_->process(), best_->settings(), 1).p50_ms;
  steps_.push_back(std::move(step));
}

void StepLedger::skip(std::string name, std::string reason) {
  steps_.push_back({std::move(name), "", StepState::kSkipped, std::move(reason)});
}

const CompressStep& StepLedger::propose(std::string name, std::string change, const std::function<Proposal()>& make) {
  CompressStep step{std::move(name), std::move(change), StepState::kReverted};
  try {
    check(step, make());
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    step.reason = error.what();
  }
  return steps_.emplace_back(std::move(step));
}

void StepLedger::require_repeatable(Trial& trial) {
  Trial again(trial.graph(), trial.engine(), trial.settings(), options_.program);
  const double difference = largest_difference(accuracy_->outputs(trial), accuracy_->outputs(again));
  if (difference > kRepeatable)
    throw Error(ErrorKind::kInput,
                fmt::format("engine {}: outputs of two processes differ by {:.0f} % of the largest; expected the same",
                            trial.engine(), 100 * difference));
}

void StepLedger::check(CompressStep& step, Proposal proposal) {
  if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, "compress: stopped");
  Trial trial(std::move(proposal.graph), proposal.engine, proposal.settings, options_.program);
  describe(step, trial);
  if (proposal.int8) require_int8(step, proposal.engine);
  std::vector<bool> right = proposal.same_results ? best_right_ : accuracy_->right(trial);
  step.accuracy = share_of(right);
  step.loss = accuracy_loss(accuracy_->original_right(), right);
  if (step.loss->share > options_.max_accuracy_loss) {
    step.reason = fmt::format("accuracy loss {:.2f} %; at most {:.2f} % is allowed", 100 * step.loss->share,
                              100 * options_.max_accuracy_loss);
    return;
  }
  if (!proposal.same_results) require_repeatable(trial);
  const EngineComparison comparison = compare_engines(best_->running(), trial.running(), options_.effort, stop_);
  step.speed = comparison.speed;
  step.p50_ms = comparison.after.p50_ms;
  const bool smaller = step.size.bytes < best_size_.bytes;
  if (step.speed->high < 1 || (step.speed->low <= 1 && !smaller)) {
    step.reason = step.speed->high < 1 ? "slower" : "not faster, and not smaller";
    return;
  }
  step.state = StepState::kKept;
  best_right_ = std::move(right);
  best_size_ = step.size;
  best_.emplace(std::move(trial));
}

}  // namespace unstarve
