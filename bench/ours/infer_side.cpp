// Inference: "infer" runs one batch after the other through the engine that is fastest here, "infer-end-to-end" all
// images of a folder by `unstarve infer`, "infer-parts" the slower one of its two parts alone.
//
// The job: "network", "precision" ("float32" or "int8"), "data" (images), "models" (folder of NETWORK.onnx and
// NETWORK-int8.onnx; made if they are missing: random weights, int8 by `export --int8`), "batch".
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "bench/ours/sides.h"
#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/device/device.h"
#include "unstarve/infer/engines/choose_engine.h"
#include "unstarve/infer/engines/engine_table.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/infer/passes/pass.h"
#include "unstarve/jobs/inference/evaluation_pipeline.h"
#include "unstarve/jobs/inference/export_model.h"
#include "unstarve/jobs/inference/infer.h"
#include "unstarve/jobs/model_chart/candidates.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve::bench {
namespace {

constexpr int kImageSize = 224;
constexpr std::uint64_t kCalibrationImages = 128;
constexpr double kSearchSeconds = 6;  // for all engines together

std::string program() {
  return (std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "unstarve").string();
}

EvaluationData images_of(const Job& job) {
  EvaluationData data;
  data.spec.source.path = job.at("data");
  return data;
}

std::filesystem::path model_of(const Job& job) {
  const std::filesystem::path folder = job.at("models").get<std::string>();
  const std::string network = job.at("network"), precision = job.at("precision");
  const std::filesystem::path floats = folder / (network + ".onnx");
  std::filesystem::create_directories(folder);
  if (!std::filesystem::exists(floats)) {
    const CandidateGraph imported = import_candidate({.network = network, .weights = {}}, {kImageSize, 1000});
    write_file_atomically(floats, infer::format_onnx(infer::run_passes(imported.graph).graph));
  }
  if (precision == "float32") return floats;
  if (precision != "int8")
    throw Error(ErrorKind::kArgument, "bench: precision '" + precision + "'; expected float32 or int8");
  const std::filesystem::path int8 = folder / (network + "-int8.onnx");
  if (std::filesystem::exists(int8)) return int8;
  ExportOptions options;
  options.model = floats;
  options.out = int8;
  options.int8.emplace().data = images_of(job);
  options.int8->calibration.images = kCalibrationImages;
  options.int8->calibration.program = program();
  (void)run_export(options);
  return int8;
}

// The fastest engine with one request of "batch" at a time, and all threads for it.
class InferSide final : public Side {
 public:
  explicit InferSide(const Job& job) {
    const std::filesystem::path model = model_of(job);
    const EngineSettings settings{1, job.at("cores"), job.at("batch")};
    double best = 0;
    for (const EngineCommand& command : engines_named("auto", program())) {
      auto engine = std::make_unique<EngineProcess>(command, model);
      engine->compile(settings, std::vector<std::int64_t>{3, kImageSize, kImageSize}, 1);
      const EngineRate rate = measure_engine(*engine, settings, kSearchSeconds / 2);
      if (rate.samples_per_s <= best) continue;
      best = rate.samples_per_s;
      engine_ = std::move(engine);
    }
    batch_ = settings.batch;
  }

  Block run(double seconds) override {
    const EngineTimes times = time_engine(*engine_, seconds);
    return {.samples = static_cast<std::int64_t>(times.batches_ms.size()) * batch_, .seconds = times.seconds};
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    return {{"engine", engine_->name()}, {"kernels", engine_->compiled().kernels}};
  }

 private:
  std::unique_ptr<EngineProcess> engine_;
  int batch_ = 1;
};

class EndToEndSide final : public Side {
 public:
  explicit EndToEndSide(const Job& job) {
    options_.model = model_of(job);
    options_.data = images_of(job).spec;
    options_.program = program();
    options_.measure_seconds = kSearchSeconds;
  }

  // Whole runs; the time for which engines are measured before each of them does not count.
  Block run(double seconds) override {
    Block block;
    while (block.seconds < seconds) {
      last_ = run_infer(options_);
      block.samples += static_cast<std::int64_t>(last_.samples);
      block.seconds += last_.seconds;
    }
    return block;
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    last_ = run_infer(options_);
    return nlohmann::json::parse(to_json(last_));
  }

 private:
  InferOptions options_;
  InferResult last_;
};

class PartsSide final : public Side {
 public:
  explicit PartsSide(const Job& job) : data_(images_of(job)), dataset_(open_sources(data_.spec)) {
    EngineSearch search;
    search.engines = engines_named("auto", program());
    search.model = model_of(job);
    search.shape = [](const ModelFacts&) { return std::vector<std::int64_t>{3, kImageSize, kImageSize}; };
    search.threads = job.at("cores");
    search.seconds = kSearchSeconds;
    choice_ = choose_engine(search);
  }

  Block run(double seconds) override {
    const Block loader = load(seconds / 2);
    const EngineTimes times = time_engine(*choice_.engine, seconds / 2);
    const Block engine{.samples = static_cast<std::int64_t>(times.batches_ms.size()) * choice_.best.settings.batch,
                       .seconds = times.seconds};
    return std::min(loader, engine, [](const Block& a, const Block& b) {
      return static_cast<double>(a.samples) * b.seconds < static_cast<double>(b.samples) * a.seconds;
    });
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    const Block loader = load(2);
    return {{"engine", choice_.engine->name()},
            {"engine_samples_per_s", choice_.best.samples_per_s},
            {"loader_samples_per_s", static_cast<double>(loader.samples) / loader.seconds}};
  }

 private:
  // Whole epochs, as run_infer() loads them.
  Block load(double seconds) const {
    const auto device = open_device("cpu");
    const PipelineSpec spec = evaluation_pipeline(data_, kImageSize, choice_.best.settings.batch);
    Block block;
    while (block.seconds < seconds) {
      Loader loader(spec, dataset_, *device, {.epochs = 1});
      const double begin = seconds_now();
      while (const std::optional<Batch> batch = loader.next())
        block.samples += static_cast<std::int64_t>(batch->samples());
      block.seconds += seconds_now() - begin;
    }
    return block;
  }

  EvaluationData data_;
  std::shared_ptr<const Dataset> dataset_;
  EngineChoice choice_;
};

}  // namespace

std::unique_ptr<Side> make_infer_side(const Job& job) { return std::make_unique<InferSide>(job); }
std::unique_ptr<Side> make_infer_end_to_end_side(const Job& job) { return std::make_unique<EndToEndSide>(job); }
std::unique_ptr<Side> make_infer_parts_side(const Job& job) { return std::make_unique<PartsSide>(job); }

}  // namespace unstarve::bench
