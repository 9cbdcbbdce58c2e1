#include "unstarve/torch/graphs/step_graphs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

std::string message_of(const std::exception& error) {
  const auto* const of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
}

std::string notice_without_graph(const std::string& reason) {
  return fmt::format("training steps are not recorded as a graph, which may be slower: {}", reason);
}

}  // namespace

std::string why_not_recorded(const TrainSettings& settings, bool foreign, int world) {
  if (settings.graph == GraphUse::kOff) return "graph: off";
  if (foreign && settings.graph != GraphUse::kOn)
    return "the code of a Python module would run only while a step is recorded. If that is sufficient, use graph: on";
  if (world > 1) return "several ranks exchange gradients, and a graph would wait forever for a rank that has ended";
  if (!updates_on_device(settings.optimiser)) {
    return fmt::format("the update {} of {} reads the learning rate on the host; expected fused",
                       word_of(settings.optimiser.form), word_of(settings.optimiser.name));
  }
  return {};
}

StepGraphs::StepGraphs(std::unique_ptr<StepRecorder> recorder, GraphUse use, GraphLimits limits)
    : recorder_(std::move(recorder)), use_(use), limits_(limits) {}

torch::Tensor StepGraphs::run(const StepKey& key, const StepWork& work) {
  ++steps_;
  if (!recorder_) return run_unrecorded(work);
  Kind* const kind = kind_of(key);
  if (kind == nullptr) return run_unrecorded(work);
  kind->used = steps_;
  if (kind->graph) return replay(*kind);
  if (kind->warm_ups >= limits_.warm_ups) return record(*kind, work);
  ++kind->warm_ups;
  torch::Tensor loss;
  recorder_->warm_up([&] { loss = run_unrecorded(work); });
  return loss;
}

torch::Tensor StepGraphs::run_unrecorded(const StepWork& work) {
  ++counts_.unrecorded;
  return work.run();
}

torch::Tensor StepGraphs::replay(Kind& kind) {
  kind.graph->replay();
  ++counts_.replayed;
  return *kind.loss;
}

torch::Tensor StepGraphs::record(Kind& kind, const StepWork& work) {
  try {
    kind.loss = std::make_shared<torch::Tensor>();
    kind.graph = recorder_->record([run = work.run, loss = kind.loss] { *loss = run(); });
  } catch (const std::exception& error) {
    const std::string reason = message_of(error);
    kinds_.clear();  // `kind` too
    recorder_.reset();
    work.undo();
    if (use_ == GraphUse::kOn) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("recording the training step as a graph: {}. Continue without: graph: off", reason));
    }
    notice_ = notice_without_graph(reason);
    return run_unrecorded(work);
  }
  ++counts_.recorded;
  if (work.constants) kind.constants = work.constants();
  return replay(kind);
}

StepGraphs::Kind* StepGraphs::kind_of(const StepKey& key) {
  const auto found = std::ranges::find(kinds_, key, &Kind::key);
  if (found != kinds_.end()) return &*found;
  if (kinds_.size() >= limits_.graphs) {
    const auto oldest = std::ranges::min_element(kinds_, {}, &Kind::used);
    if (oldest == kinds_.end() || steps_ - oldest->used <= limits_.recent_steps) return nullptr;
    kinds_.erase(oldest);
  }
  Kind& kind = kinds_.emplace_back();
  kind.key = key;
  return &kind;
}

std::string StepGraphs::notice() { return std::exchange(notice_, {}); }

GraphChoice make_step_graphs(const TrainSettings& settings, torch::Device device, std::string reason,
                             std::unique_ptr<StepRecorder> recorder) {
  if (device.is_cpu() && recorder == nullptr && settings.graph != GraphUse::kOn) return {};
  // Kernels are chosen in the first steps, by measurement. For the whole process, as in PyTorch.
  if (!device.is_cpu()) at::globalContext().setBenchmarkCuDNN(true);
  if (reason.empty() && recorder == nullptr) {
    RecorderChoice choice = make_step_recorder(device);
    recorder = std::move(choice.recorder);
    reason = std::move(choice.reason);
  }
  if (reason.empty()) return {.graphs = StepGraphs(std::move(recorder), settings.graph)};
  if (settings.graph == GraphUse::kOff) return {};
  if (settings.graph == GraphUse::kAuto) return {.notice = notice_without_graph(reason)};
  throw Error(ErrorKind::kArgument,
              fmt::format("training: graph is on, but steps cannot be recorded: {}. Use graph: auto", reason));
}

std::size_t StepGraphs::graphs() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(kinds_, [](const Kind& kind) { return kind.graph != nullptr; }));
}

}  // namespace unstarve
