#include "unstarve/jobs/inference/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "unstarve/core/clock.h"
#include "unstarve/core/file.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/device/device.h"
#include "unstarve/infer/engines/engine_table.h"
#include "unstarve/infer/onnx/read_onnx.h"
#include "unstarve/jobs/inference/engine_feed.h"
#include "unstarve/jobs/inference/evaluation_pipeline.h"
#include "unstarve/jobs/inference/model_fit.h"
#include "unstarve/jobs/inference/model_settings.h"
#include "unstarve/jobs/inference/prediction_output.h"
#include "unstarve/jobs/inference/prediction_part.h"
#include "unstarve/jobs/prepare/digest.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

std::string what_of(const InferOptions& options) { return "infer " + options.model.string(); }

void check_model_file(const std::filesystem::path& model) {
  if (model.extension() != ".onnx")
    throw Error(
        ErrorKind::kArgument,
        fmt::format("infer {}: found the extension \"{}\"; expected an ONNX file (.onnx). For a checkpoint, run "
                    "unstarve export {} --out model.onnx",
                    model.string(), model.extension().string(), model.string()));
  if (::access(model.c_str(), R_OK) != 0) throw io_error("open", model.string(), errno);
  if (std::filesystem::is_directory(model)) throw io_error("open", model.string(), EISDIR);
}

std::optional<Normalisation> normalisation_of(const std::filesystem::path& model) {
  return infer::read_onnx_normalisation(MappedFile(model).bytes(), model.string());
}

// Rows need the ids of their own samples, and arrays a row for every sample.
void check_policy(const InferOptions& options) {
  const OnError policy = options.data.errors.policy;
  if (policy == OnError::kReplace)
    throw Error(ErrorKind::kArgument,
                "infer: found errors.policy replace, which predicts other samples instead; expected fail or skip");
  if (policy == OnError::kSkip && options.out.extension() == ".npy")
    throw Error(ErrorKind::kArgument, fmt::format("infer --out {}: found errors.policy skip, and an array without "
                                                  "numbers of samples; expected .csv or .parquet",
                                                  options.out.string()));
}

// What the rows of a part depend on.
std::string header_of(const InferOptions& options, const PipelineSpec& spec, const Dataset& dataset,
                      const SampleSet& samples, std::size_t values) {
  PipelineSpec pixels = spec;
  pixels.execution = {};
  pixels.batch = {};
  const nlohmann::ordered_json header{{"model", options.model.filename().string()},
                                      {"model_sha256", digest_file(options.model, Checksum::kSha256)},
                                      {"data", name_of_sources(spec)},
                                      {"records", dataset.size()},
                                      {"samples", fmt::format("{:016x}", samples.fingerprint())},
                                      {"first", dataset.location(0)},
                                      {"last", dataset.location(dataset.size() - 1)},
                                      {"values", values},
                                      {"pipeline", to_yaml(pixels)}};
  return json_text(header);
}

std::filesystem::path part_path(const std::filesystem::path& out) { return out.string() + ".part"; }

void check_out(const InferOptions& options) {
  if (options.out.empty()) {
    if (options.resume) throw Error(ErrorKind::kArgument, "--resume: found no file of predictions; expected --out too");
    return;
  }
  require_format(options.out);
  if (const auto part = part_path(options.out); !options.resume && std::filesystem::exists(part))
    throw Error(ErrorKind::kArgument, fmt::format("infer --out {}: found {} of an interrupted run; expected none. Pass "
                                                  "--resume to continue that run, or delete the file",
                                                  options.out.string(), part.string()));
}

// Converts outputs to rows and counts them.
class RowMaker {
 public:
  RowMaker(InferResult& result, PredictionFormat format, bool labels)
      : result_(result), format_(format), labels_(labels), pairs_(2 * static_cast<std::size_t>(result.top)) {
    rows_.values = values_per_row(format, result.classes, static_cast<std::size_t>(result.top));
  }
  [[nodiscard]] std::size_t values() const { return rows_.values; }

  const PredictionRows& make(std::span<const std::uint64_t> ids, std::span<const std::int64_t> labels,
                             std::span<const float> outputs) {
    rows_.clear();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto row = outputs.subspan(i * result_.classes, result_.classes);
      top_classes(row, pairs_, scratch_);
      rows_.ids.push_back(ids[i]);
      rows_.labels.push_back(labels[i]);
      if (format_ == PredictionFormat::kNpy)
        rows_.data.insert(rows_.data.end(), row.begin(), row.end());
      else
        rows_.data.insert(rows_.data.end(), pairs_.begin(), pairs_.end());
      count(rows_.labels.back());
    }
    return rows_;
  }
  // Counts rows of an earlier run.
  void add(const PredictionRows& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (format_ == PredictionFormat::kNpy)
        top_classes(rows.row(i), pairs_, scratch_);
      else
        std::copy(rows.row(i).begin(), rows.row(i).end(), pairs_.begin());
      count(rows.labels[i]);
    }
  }

 private:
  // Of the row in pairs_.
  void count(std::int64_t label) {
    ++result_.samples;
    if (!labels_ || label < 0 || static_cast<std::size_t>(label) >= result_.classes) return;
    ++result_.labelled;
    if (static_cast<std::int64_t>(pairs_[0]) == label) ++result_.correct;
    for (std::size_t k = 0; k < pairs_.size(); k += 2)
      if (static_cast<std::int64_t>(pairs_[k]) == label) ++result_.correct_top;
  }

  InferResult& result_;
  PredictionFormat format_;
  bool labels_;
  std::vector<float> pairs_;
  std::vector<std::uint32_t> scratch_;
  PredictionRows rows_;
};

void check_finite(std::span<const float> outputs, const Dataset& dataset, std::uint64_t id, const std::string& model) {
  if (!std::ranges::all_of(outputs, [](float value) { return std::isfinite(value); }))
    throw Error(ErrorKind::kInput,
                fmt::format("infer {}: the output for {} is not a finite number; expected finite numbers. The weights "
                            "may be damaged, or the normalisation may belong to another model",
                            model, dataset.location(id)));
}

// Uses what compress chose, unless options of the user decide. Returns the names of what is used.
std::vector<std::string> use_settings(const ModelSettings& settings, const InferOptions& options,
                                      EngineSearch& search) {
  if (!options.engine.empty() && options.engine != settings.engine) return {};
  std::vector<std::string> used{"engine", "precision"};
  search.engines = engines_named(settings.engine, options.program);
  search.precision = settings.throughput.precision;
  if (options.batch == 0 && settings.cpus == search.threads) {
    search.settings = settings.throughput;
    used.insert(used.end(), {"streams", "threads", "batch"});
  }
  return used;
}

EngineChoice choose(const InferOptions& options, std::uint64_t samples, const std::stop_token& stop,
                    InferResult& result) {
  EngineSearch search;
  search.engines = engines_named(options.engine.empty() ? "auto" : options.engine, options.program);
  search.model = options.model;
  search.shape = [&](const ModelFacts& model) { return sample_shape(what_of(options), model, options.image_size); };
  search.batch = options.batch;
  search.most_batch = static_cast<int>(std::clamp<std::uint64_t>(samples, 1, 64));
  search.threads = read_topology().usable();
  search.shares_cpus = true;
  search.seconds = options.measure_seconds;
  search.memory_bytes = static_cast<double>(read_machine_facts().memory_available_bytes);
  search.stop = stop;
  const std::optional<ModelSettings> settings = settings_next_to(options.model);
  if (settings) result.from_settings = use_settings(*settings, options, search);
  if (result.from_settings.empty()) return choose_engine(search);
  result.settings_file = settings->file;
  try {
    return choose_engine(search);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMissing || !options.engine.empty()) throw;
    throw Error(ErrorKind::kMissing, fmt::format("{}\nThe engine is that of {}; --engine auto uses another one",
                                                 error.what(), settings->file.string()));
  }
}

// A run: the engine is chosen, rows of an interrupted run are counted, then all other samples are predicted.
class InferRun {
 public:
  InferRun(const InferOptions& options, const Progress& progress, std::stop_token stop)
      : options_(options),
        progress_(progress),
        stop_(std::move(stop)),
        dataset_(open_sources(options.data)),
        samples_(samples_of_sources(options.data, *dataset_)),
        data_{options.data, options.is_spec, normalisation_of(options.model)} {
    if (progress_) progress_("measuring engines", 0);
    choice_ = choose(options_, samples_->size(), stop_, result_);
    describe();
    maker_.emplace(result_, options_.out.empty() ? PredictionFormat::kCsv : prediction_format(options_.out), labels_);
    if (!options_.out.empty()) open_part();
  }

  void predict() {
    const std::uint64_t done = last_id_ ? samples_->ids().lower_bound(0, samples_->size(), *last_id_ + 1) : 0;
    if (options_.data.errors.policy == OnError::kFail && result_.resumed != done)
      throw Error(ErrorKind::kInput,
                  fmt::format("resume {}: found {} rows for the first {} samples; expected a row for "
                              "each. Delete the file to start again",
                              part_->path().string(), result_.resumed, done));
    if (done == samples_->size()) return;
    const std::unique_ptr<Device> device = open_device("cpu");
    Loader loader(spec_, dataset_, *device,
                  {.start = {0, 0, done}, .epochs = 1, .basis = {samples_, {}}, .check_data = labels_});
    ItemProgress items(progress_, samples_->size() - done, "samples");
    EngineFeed feed(*choice_.engine, loader, result_.image_size, what_of(options_));
    const double begin = seconds_now();
    bool finished = false;
    try {
      finished = feed.run(
          [&](const FedSamples& fed, std::span<const float> outputs) {
            add(fed, outputs);
            items.add(fed.ids.size());
          },
          stop_);
    } catch (...) {
      if (part_ && part_->rows() == 0) std::filesystem::remove(part_->path());  // nothing to continue from
      throw;
    }
    result_.seconds = seconds_now() - begin;
    result_.loader_wait_s = feed.loader_wait_s();
    result_.engine_wait_s = feed.engine_wait_s();
    result_.bad = loader.bad_count();
    if (!finished)
      throw Error(ErrorKind::kCancelled, fmt::format("infer: stopped after {} of {} samples{}", result_.samples,
                                                     samples_->size(), part_ ? "; --resume continues" : ""));
  }

  InferResult finish() {
    if (part_) {
      if (progress_) progress_("writing " + options_.out.string(), 1);
      const bool named = dataset_->classes().size() == result_.classes;
      write_predictions(*part_, *dataset_, options_.out, named ? dataset_->classes() : std::vector<std::string>(),
                        maker_->values());
      std::filesystem::remove(part_->path());
    }
    return std::move(result_);
  }

 private:
  // Sets the pipeline, and what the result says of the model, the engine and the data.
  void describe() {
    const EngineProcess& engine = *choice_.engine;
    const std::string what = what_of(options_);
    const int batch = choice_.best.settings.batch;
    result_.model = options_.model.string();
    result_.data = name_of_sources(options_.data);
    result_.engine = engine.name();
    result_.engine_version = engine.model().version;
    result_.engine_rate = choice_.best;
    result_.compiled = engine.compiled();
    result_.left_out = std::move(choice_.left_out);
    result_.out = options_.out;
    result_.image_size = static_cast<int>(sample_shape(what, engine.model(), options_.image_size)[1]);
    result_.classes = classes_of(what, engine.compiled(), batch);
    if (static_cast<std::size_t>(options_.top) > result_.classes)
      throw Error(ErrorKind::kArgument, fmt::format("--top: found {}; expected at most {}, the classes of the model",
                                                    options_.top, result_.classes));
    result_.top = options_.top;
    labels_ = labels_fit(what, options_.data, *dataset_, result_.classes);
    notice_other_normalisation(data_);
    spec_ = evaluation_pipeline(data_, result_.image_size, batch);
    result_.normalisation = spec_.output.normalisation;
  }

  void open_part() {
    const std::string header = header_of(options_, spec_, *dataset_, *samples_, maker_->values());
    part_.emplace(part_path(options_.out), header, maker_->values(), [&](const PredictionRows& rows) {
      maker_->add(rows);
      if (rows.size() > 0) last_id_ = rows.ids.back();
    });
    result_.resumed = result_.samples;
  }

  void add(const FedSamples& fed, std::span<const float> outputs) {
    for (std::size_t i = 0; i < fed.ids.size(); ++i)
      check_finite(outputs.subspan(i * result_.classes, result_.classes), *dataset_, fed.ids[i], result_.model);
    const PredictionRows& rows = maker_->make(fed.ids, fed.labels, outputs);
    if (part_) part_->append(rows);
  }

  const InferOptions& options_;
  const Progress& progress_;
  const std::stop_token stop_;
  const std::shared_ptr<const Dataset> dataset_;
  const std::shared_ptr<const SampleSet> samples_;
  const EvaluationData data_;
  InferResult result_;
  EngineChoice choice_;
  PipelineSpec spec_;
  bool labels_ = false;  // belong to the classes of the model
  std::optional<RowMaker> maker_;
  std::optional<PredictionPart> part_;
  std::optional<std::uint64_t> last_id_;  // of the rows of an interrupted run; rows have ascending ids
};

}  // namespace

void top_classes(std::span<const float> outputs, std::span<float> pairs, std::vector<std::uint32_t>& order) {
  const std::size_t top = std::min(pairs.size() / 2, outputs.size());
  order.resize(outputs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
      [&](std::uint32_t a, std::uint32_t b) { return outputs[a] > outputs[b] || (outputs[a] == outputs[b] && a < b); });
  const double sum = std::accumulate(outputs.begin(), outputs.end(), 0.0);
  const bool probabilities = std::abs(sum - 1) < 1e-4 && *std::ranges::min_element(outputs) >= 0;
  const double largest = outputs[order[0]];
  double total = 0;
  for (const float value : outputs) total += std::exp(value - largest);
  for (std::size_t k = 0; k < top; ++k) {
    const float value = outputs[order[k]];
    pairs[2 * k] = static_cast<float>(order[k]);
    pairs[2 * k + 1] = probabilities ? value : static_cast<float>(std::exp(value - largest) / total);
  }
}

InferResult run_infer(const InferOptions& options, const Progress& progress, std::stop_token stop) {
  check_model_file(options.model);
  check_policy(options);
  check_out(options);
  InferRun run(options, progress, std::move(stop));
  run.predict();
  return run.finish();
}

}  // namespace unstarve
