#include "unstarve/jobs/compress/compress.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/infer/engines/compare_engines.h"
#include "unstarve/infer/engines/engine_table.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/infer/passes/pass.h"
#include "unstarve/jobs/compress/int8_steps.h"
#include "unstarve/jobs/compress/step_text.h"
#include "unstarve/jobs/inference/first_engine.h"
#include "unstarve/jobs/inference/graph_file.h"
#include "unstarve/jobs/inference/model_fit.h"
#include "unstarve/jobs/inference/model_settings.h"
#include "unstarve/jobs/prepare/digest.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// For the fastest streams and batch of one model.
constexpr double kThroughputSeconds = 3;

fs::path model_path(const CompressOptions& options) { return options.out / "model.onnx"; }

void check_options(const CompressOptions& options) {
  std::error_code ignored;  // of a file that does not exist
  for (const fs::path& file : {model_path(options), options.out / kSevenBitsFile})
    if (fs::equivalent(file, options.model, ignored))
      throw Error(ErrorKind::kArgument,
                  fmt::format("--out: found {}, whose {} is the model itself; expected another folder",
                              options.out.string(), file.filename().string()));
  if (fs::exists(options.out, ignored) && !fs::is_directory(options.out, ignored))
    throw Error(ErrorKind::kArgument,
                fmt::format("--out: found the file {}; expected a folder, or a new name", options.out.string()));
}

// The name of the engine for the first steps. Throws if the model does not classify images, with `what` of the error.
std::string first_engine_of(const infer::Graph& graph, const CompressOptions& options, const std::string& what) {
  const GraphFile file(graph);
  const auto engine = first_engine(options.engine, options.program, file.path());
  (void)sample_shape(what, engine->model(), 0);
  return engine->name();
}

AccuracyImages images_of(const CompressOptions& options, const std::optional<Normalisation>& of_model) {
  AccuracyImages images;
  images.what = "compress " + options.model.string();
  images.calibration = open_images(options.data, of_model);
  const std::uint64_t all = images.calibration.size();
  if (!options.val && all < 2)
    throw Error(ErrorKind::kInput,
                "compress: found one image; expected at least two, to calibrate and to check the "
                "accuracy");
  images.calibrate = std::min(options.images, options.val ? all : all / 2);
  images.evaluation = options.val ? open_images(*options.val, of_model) : images.calibration;
  images.skip = options.val ? 0 : images.calibrate;
  images.evaluate = options.val_images;
  return images;
}

void propose_fold(StepLedger& ledger, const infer::PassedGraph& folded, std::size_t nodes) {
  const auto is_idle = [](const infer::PassReport& report) { return report.changed == 0; };
  if (std::ranges::all_of(folded.reports, is_idle)) return ledger.skip("fold", "there is nothing to fold");
  ledger.propose("fold", fmt::format("{} nodes to {}", nodes, folded.graph.nodes.size()),
                 [&] { return ledger.with_graph(folded.graph); });
}

void propose_bfloat16(StepLedger& ledger) {
  const MachineFacts machine = read_machine_facts();
  if (!machine.has("avx512_bf16") && !machine.has("amx_bf16"))
    return ledger.skip("bfloat16", "this CPU has no instructions for it");
  if (const std::string& engine = ledger.best().engine(); !has_bfloat16(engine))
    return ledger.skip("bfloat16", fmt::format("{} does not compute in it", engine));
  ledger.propose("bfloat16", "layers without quantisation", [&] {
    Proposal proposal = ledger.with_graph(ledger.best().graph());
    proposal.settings.precision = "bfloat16";
    return proposal;
  });
}

void propose_engines(StepLedger& ledger, const std::vector<EngineCommand>& engines) {
  const std::string used = ledger.best().engine();
  for (const EngineCommand& engine : engines) {
    if (engine.name == used) continue;
    ledger.propose("engine", engine.name, [&] {
      Proposal proposal = ledger.with_graph(ledger.best().graph());
      proposal.engine = engine.name;
      proposal.settings = supported_by(engine.name, std::move(proposal.settings));
      return proposal;
    });
  }
}

void propose_threads(StepLedger& ledger) {
  const int all = ledger.best().settings().threads;
  for (int threads = all / 2; threads >= 1; threads /= 2)
    ledger.propose("threads", fmt::format("{} of {}", threads, all), [&] {
      Proposal proposal = ledger.with_graph(ledger.best().graph());
      proposal.settings.threads = threads;
      proposal.same_results = true;
      return proposal;
    });
}

CompressedFigures figures_of(Trial& trial, const EngineRate& rate, const CompressStep& step,
                             const CompressOptions& options, const std::stop_token& stop) {
  CompressedFigures figures;
  figures.engine = trial.engine();
  figures.engine_version = trial.process().model().version;
  figures.settings = trial.settings();
  figures.p50_ms = rate.p50_ms;
  figures.p99_ms = rate.p99_ms;
  figures.accuracy = *step.accuracy;
  figures.size = step.size;
  const GraphFile file(trial.graph());
  EngineSearch search;
  search.engines = engines_named(trial.engine(), options.program);
  search.model = file.path();
  search.shape = [&](const ModelFacts&) { return trial.shape(); };
  search.threads = read_topology().usable();
  search.precision = trial.settings().precision;
  search.shares_cpus = true;  // as `infer`, which uses these settings
  search.seconds = kThroughputSeconds;
  search.memory_bytes = static_cast<double>(read_machine_facts().memory_available_bytes);
  search.stop = stop;
  figures.throughput = choose_engine(search).best;
  return figures;
}

// The sums of a CPU without VNNI overflow; this one has other instructions, which are switched off. Only OpenVINO
// has a setting for that.
std::optional<Portability> portability_of(StepLedger& ledger, Int8Steps& int8) {
  if (!int8.seven_bits || sums_may_overflow() || !read_machine_facts().has("avx2")) return std::nullopt;
  Portability result;
  const auto loss_of = [&](const infer::Graph& graph) {
    Trial capped(graph, "openvino", ledger.best().settings(), ledger.options().program, "AVX2");
    return accuracy_loss(ledger.accuracy().original_right(), ledger.accuracy().right(capped));
  };
  try {
    result.loss = loss_of(ledger.best().graph());
    if (result.loss.share <= ledger.options().max_accuracy_loss) return result;
    result.seven_bits = loss_of(*int8.seven_bits);
    result.seven_bits_model = std::move(int8.seven_bits);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    result.failure = error.what();
  }
  return result;
}

ReferenceSpeed compare_with_reference(const infer::Graph& original, Trial& best, const CompressOptions& options,
                                      const std::stop_token& stop) {
  ReferenceSpeed result;
  try {
    Trial reference(original, kReferenceEngine, {1, read_topology().usable(), 1}, options.program);
    const EngineComparison comparison =
        compare_engines(reference.running(), best.running(), {.most_pairs = options.pairs}, stop);
    result.speed = comparison.speed;
    result.p50_ms = comparison.before.p50_ms;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    result.failure = error.what();
  }
  return result;
}

// Of the best model, for `infer` (jobs/inference/model_settings.h) and programs that serve it.
std::string settings_text(Trial& trial, const CompressOptions& options, const EngineRate& throughput,
                          const Normalisation& normalisation) {
  const Json json{{"model", model_path(options).filename().string()},
                  {"model_sha256", digest_file(model_path(options), Checksum::kSha256)},
                  {"cpus", read_topology().usable()},
                  {"engine", trial.engine()},
                  {"engine_version", trial.process().model().version},
                  {"latency", json_of(trial.settings())},
                  {"throughput", json_of(throughput.settings)},
                  {"image_size", trial.image_size()},
                  {"mean", normalisation.mean},
                  {"std", normalisation.std}};
  return json_text(json, 2) + "\n";
}

// Writes all files of the output folder.
void write_files(const CompressOptions& options, const CompressResult& result, Trial& best,
                 const Normalisation& normalisation) {
  fs::create_directories(options.out);
  write_file_atomically(model_path(options), infer::format_onnx(best.graph()));
  write_file_atomically(options.out / kModelSettingsFile,
                        settings_text(best, options, result.after.throughput, normalisation));
  const fs::path seven_bits = options.out / kSevenBitsFile;
  if (result.portability && result.portability->seven_bits_model)
    write_file_atomically(seven_bits, infer::format_onnx(*result.portability->seven_bits_model));
  else
    fs::remove(seven_bits);  // of an earlier run, for another model.onnx
  write_file_atomically(options.out / "ledger.json", to_json(result) + "\n");
}

}  // namespace

CompressResult run_compress(const CompressOptions& options, const Progress& progress, const std::stop_token& stop) {
  check_options(options);
  const auto report = [&](std::string_view what) {
    if (progress) progress(what, 0);
  };
  report("the original model");
  infer::Graph original = infer::import_model(options.model, options.import);
  const AccuracyImages images = images_of(options, original.normalisation);
  if (const infer::Shape& shape = original.value(original.inputs.at(0)).type.shape; shape.size() == 4)
    original.normalisation =
        evaluation_pipeline(images.evaluation.data, static_cast<int>(shape[3]), 1).output.normalisation;
  const std::vector<EngineCommand> engines = engines_named(options.engine, options.program);
  const EngineSettings settings{1, read_topology().usable(), 1};
  const std::string engine = first_engine_of(original, options, images.what);
  StepLedger ledger(original,
                    {engine, options.program, settings, options.max_accuracy_loss, {.most_pairs = options.pairs}},
                    images, progress, stop);

  const infer::PassedGraph folded = infer::run_passes(original);
  report("fold");
  propose_fold(ledger, folded, original.nodes.size());
  CompressResult result;
  const CalibrationOptions calibration{
      .images = images.calibrate, .engine = engine, .program = options.program, .progress = progress, .stop = stop};
  Int8Steps int8 = propose_int8(ledger, folded.graph, images.calibration, calibration);
  result.layers = int8.layers;
  report("int8 weights");
  propose_int8_weights(ledger);
  report("bfloat16");
  propose_bfloat16(ledger);
  report("engines");
  propose_engines(ledger, engines);
  report("threads");
  propose_threads(ledger);

  report("other CPUs");
  result.portability = portability_of(ledger, int8);
  report("the result");
  Trial before(original, engine, settings, options.program);
  Trial& best = ledger.best();
  const EngineComparison comparison = compare_engines(
      before.running(), best.running(), {.least_pairs = 10, .most_pairs = std::max(10, options.pairs)}, stop);
  result.reference = compare_with_reference(original, best, options, stop);
  result.model = options.model.string();
  result.data = name_of_sources(options.data.spec);
  result.val = options.val ? name_of_sources(options.val->spec) : result.data;
  result.labelled = ledger.accuracy().has_labels();
  result.calibration_images = images.calibrate;
  result.max_accuracy_loss = options.max_accuracy_loss;
  result.steps = ledger.steps();
  result.speed = comparison.speed;
  const CompressStep& last = step_of_result(result);
  result.loss =
      last.loss.value_or(accuracy_loss(ledger.accuracy().original_right(), ledger.accuracy().original_right()));
  result.before = figures_of(before, comparison.before, result.steps.front(), options, stop);
  result.after = figures_of(best, comparison.after, last, options, stop);
  result.out = options.out;
  write_files(options, result, best, *original.normalisation);
  return result;
}

}  // namespace unstarve
