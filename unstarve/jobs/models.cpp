#include "unstarve/jobs/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/infer/engines/engine_table.h"
#include "unstarve/infer/graph/multiply_adds.h"
#include "unstarve/infer/passes/pass.h"
#include "unstarve/jobs/inference/graph_file.h"
#include "unstarve/jobs/inference/infer.h"
#include "unstarve/jobs/model_chart/pareto.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

constexpr int kDefaultClasses = 1000;  // those of ImageNet
// Shares of the time of measurements, and of the progress.
constexpr double kLatencyShare = 0.7, kPrepared = 0.3;
constexpr double kAccuracyEngineSeconds = 1;  // in which run_infer() chooses streams and batch
// An upper bound of the memory of an engine's process. With OpenVINO 2026.4 it was 62 MB for 10 MB of weights, and
// 238 MB for 97 MB.
constexpr double kProcessBytes = 60e6, kWeightCopies = 3;

// A network on its way to a row.
struct PreparedModel {
  ModelRow row;
  std::unique_ptr<GraphFile> file;
  TimedEngine engine;
  std::string failure;  // "": none
};

class ModelsRun {
 public:
  ModelsRun(const ModelsOptions& options, const Progress& progress, std::stop_token stop)
      : options_(options), progress_(progress), stop_(std::move(stop)) {
    result_.image_size = options.image_size;
    result_.threads = read_topology().usable();
    result_.seconds =
        options.seconds > 0 ? options.seconds : kSecondsPerNetwork * static_cast<double>(options.candidates.size());
    if (has_validation()) result_.validation = name_of_sources(options.validation);
  }

  ModelsResult run() {
    (void)engines_named(options_.engine, options_.program);  // for the error of an unknown name, before any work
    if (has_validation()) (void)open_sources(options_.validation);
    import_all();
    choose_engine_of_all();
    if (has_validation()) measure_accuracies();
    start_engines();
    measure_latencies();
    measure_rates();
    collect();
    mark_front(result_);
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool has_validation() const { return !options_.validation.source.path.empty(); }

  void report(const std::string& what, double share) const {
    if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, "models: stopped");
    if (progress_) progress_(what, share);
  }

  void import_all() {
    // Weights first: random networks have as many classes.
    std::vector<CandidateNetwork> candidates = options_.candidates;
    std::stable_partition(candidates.begin(), candidates.end(),
                          [](const CandidateNetwork& each) { return !each.weights.empty(); });
    CandidateShape shape{options_.image_size, options_.classes};
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const CandidateNetwork& candidate = candidates[i];
      report("preparing " + (candidate.weights.empty() ? candidate.network : candidate.weights.string()),
             kPrepared * static_cast<double>(i) / static_cast<double>(candidates.size()));
      if (shape.classes == 0 && candidate.weights.empty()) shape.classes = kDefaultClasses;
      PreparedModel prepared = prepare(candidate, shape);
      if (shape.classes == 0) shape.classes = static_cast<int>(prepared.row.classes);
      models_.push_back(std::move(prepared));
    }
  }

  PreparedModel prepare(const CandidateNetwork& candidate, const CandidateShape& shape) {
    CandidateGraph imported = import_candidate(candidate, shape);
    PreparedModel prepared;
    ModelRow& row = prepared.row;
    row.network = imported.network;
    row.weights = candidate.weights;
    row.parameters = infer::trained_parameters(imported.graph);
    const infer::Graph graph = infer::run_passes(std::move(imported.graph)).graph;
    row.multiply_adds = infer::multiply_adds(graph);
    row.weight_bytes = graph.constant_bytes();
    const infer::Shape& output = graph.value(graph.outputs.at(0)).type.shape;
    row.classes = output.size() == 2 ? output[1] : 0;
    if (row.weights.empty() && row.classes == kDefaultClasses)  // a file may have another network with the same name
      row.published = published_accuracy(row.network, options_.image_size);
    prepared.file = std::make_unique<GraphFile>(graph);
    return prepared;
  }

  // The first engine that is installed.
  void choose_engine_of_all() {
    std::string reasons;
    for (const EngineCommand& command : engines_named(options_.engine, options_.program)) {
      try {
        const EngineProcess engine(command, models_.front().file->path());
        result_.engine_version = engine.model().version;
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kMissing) {
          result_.left_out.push_back({command.name, error.what()});
          reasons += (reasons.empty() ? "" : "\n") + std::string(error.what());
          continue;
        }
        // Another error is that of the network: it is reported with its row.
      }
      command_ = command;
      result_.engine = command.name;
      return;
    }
    throw Error(ErrorKind::kMissing, reasons);
  }

  void measure_accuracies() {
    for (PreparedModel& model : models_) {
      if (model.row.weights.empty()) continue;
      const std::string name = fmt::format("accuracy of {} ({})", model.row.network, model.row.weights.string());
      report(name, kPrepared);
      InferOptions options;
      options.model = model.file->path();
      options.data = options_.validation;
      options.is_spec = options_.validation_is_spec;
      options.engine = command_.name;
      options.program = options_.program;
      options.measure_seconds = kAccuracyEngineSeconds;
      const auto show = [&](std::string_view what, double) { report(fmt::format("{}: {}", name, what), kPrepared); };
      InferResult inferred;
      try {
        inferred = run_infer(options, show, stop_);
      } catch (const EngineCrash& error) {
        model.failure = error.what();
        continue;
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kCancelled) throw;
        throw Error(error.kind(), fmt::format("--val: {}: {}", name, error.what()));
      }
      if (inferred.labelled == 0)
        throw Error(
            ErrorKind::kInput,
            fmt::format("--val: {}: found no label that is one of the {} classes of the network in {}; expected "
                        "the validation data of its training",
                        name, model.row.classes, result_.validation));
      model.row.accuracy = {inferred.correct, inferred.labelled,
                            static_cast<double>(inferred.correct) / static_cast<double>(inferred.labelled),
                            wilson_interval(inferred.correct, inferred.labelled)};
    }
  }

  void check_memory() const {
    double bytes = 0;
    for (const PreparedModel& model : models_)
      bytes += kProcessBytes + kWeightCopies * static_cast<double>(model.row.weight_bytes);
    const std::uint64_t available = read_machine_facts().memory_available_bytes;
    if (available > 0 && bytes > static_cast<double>(available))
      throw Error(
          ErrorKind::kMemory,
          fmt::format("models: {} networks need about {} of memory, found {} available; expected fewer. Name "
                      "them by --networks",
                      models_.size(), format_bytes(static_cast<std::uint64_t>(bytes)), format_bytes(available)));
  }

  // Calls `use` for every network whose engine works; errors of the engine become failures.
  template <class Use>
  void each_engine(const char* what, double share, Use&& use) {
    for (PreparedModel& model : models_) {
      if (!model.failure.empty()) continue;
      report(fmt::format("{} {}", what, model.row.network), share);
      try {
        use(model);
      } catch (const Error& error) {
        model.failure = error.what();
        model.engine.reset();
      }
    }
  }

  void compile(PreparedModel& model, const EngineSettings& settings, int requests) const {
    const std::vector<std::int64_t> image{3, options_.image_size, options_.image_size};
    model.engine->compile(settings, image, requests);
  }

  void start_engines() {
    check_memory();
    each_engine("starting", kPrepared, [&](PreparedModel& model) {
      model.engine = std::make_unique<EngineProcess>(command_, model.file->path());
      compile(model, {1, result_.threads, 1}, 1);
      check_output(*model.engine);
      result_.engine_version = model.engine->model().version;
      result_.precision = model.engine->compiled().precision;
    });
  }

  static void check_output(EngineProcess& engine) {
    std::ranges::fill(engine.input(0), 0.5F);
    engine.start(0);
    if (!std::ranges::all_of(engine.wait(0), [](float value) { return std::isfinite(value); }))
      throw Error(ErrorKind::kInput,
                  "the output is not a finite number; expected finite numbers. The weights may be "
                  "damaged");
  }

  std::vector<EngineRounds> rounds_of(const char* what, double from, double to, double seconds) {
    std::vector<TimedEngine> engines;
    for (PreparedModel& model : models_) engines.push_back(std::move(model.engine));
    const auto show = [&](double share) { report(what, from + (to - from) * share); };
    std::vector<EngineRounds> rounds = time_in_rounds(engines, {seconds, stop_, show});
    for (std::size_t i = 0; i < models_.size(); ++i) {
      models_[i].engine = std::move(engines[i]);
      if (models_[i].failure.empty()) models_[i].failure = rounds[i].failure;
    }
    return rounds;
  }

  void measure_latencies() {
    const double end = kPrepared + (1 - kPrepared) * kLatencyShare;
    const auto rounds = rounds_of("measuring latencies", kPrepared, end, kLatencyShare * result_.seconds);
    for (std::size_t i = 0; i < models_.size(); ++i)
      if (models_[i].failure.empty()) models_[i].row.latency = summarise_latency(rounds[i].rounds);
  }

  void measure_rates() {
    const double begin = kPrepared + (1 - kPrepared) * kLatencyShare;
    const EngineSettings settings = supported_by(command_.name, {result_.threads, result_.threads, 1});
    each_engine("compiling", begin, [&](PreparedModel& model) { compile(model, settings, requests_of(settings)); });
    const auto rounds = rounds_of("measuring throughput", begin, 1, (1 - kLatencyShare) * result_.seconds);
    for (std::size_t i = 0; i < models_.size(); ++i)
      if (models_[i].failure.empty()) models_[i].row.throughput = summarise_rate(rounds[i].rounds);
  }

  void collect() {
    for (PreparedModel& model : models_) {
      if (model.failure.empty())
        result_.rows.push_back(std::move(model.row));
      else
        result_.rejected.push_back({model.row.network, model.row.weights, model.failure});
    }
    std::ranges::stable_sort(result_.rows, {}, [](const ModelRow& row) { return row.latency.p50_ms; });
  }

  const ModelsOptions& options_;
  const Progress& progress_;
  std::stop_token stop_;
  EngineCommand command_;
  std::vector<PreparedModel> models_;
  ModelsResult result_;
};

}  // namespace

void mark_front(ModelsResult& result) {
  const auto accuracy_of = [&](const ModelRow& row) -> std::optional<double> {
    if (result.basis == FrontBasis::kMeasured) return row.accuracy->top1;
    return row.published ? std::optional(row.published->top1) : std::nullopt;
  };
  const auto& of = result.rows;
  const bool measured = !of.empty() && std::ranges::all_of(of, [](const ModelRow& row) { return !!row.accuracy; });
  const bool published = std::ranges::any_of(of, [](const ModelRow& row) { return !!row.published; });
  result.basis = measured ? FrontBasis::kMeasured : published ? FrontBasis::kPublished : FrontBasis::kNone;
  std::vector<CostAndAccuracy> compared;
  std::vector<ModelRow*> rows;
  for (ModelRow& row : result.rows) {
    row.front.reset();
    const std::optional<double> accuracy = accuracy_of(row);
    if (!accuracy) continue;
    compared.push_back({row.latency.p50_ms, *accuracy});
    rows.push_back(&row);
  }
  const std::vector<bool> front = pareto_front(compared);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i]->front = front[i];
}

ModelsResult run_models(const ModelsOptions& options, const Progress& progress, std::stop_token stop) {
  return ModelsRun(options, progress, std::move(stop)).run();
}

}  // namespace unstarve
