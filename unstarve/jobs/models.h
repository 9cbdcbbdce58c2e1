#pragma once
// `unstarve models`: candidate networks compared on this machine by latency, throughput, size and accuracy.
//
//   candidates ──▶ graphs ──passes──▶ ONNX files ──▶ one EngineProcess each ──▶ interleaved rounds ──▶ rows
//
// Latency:    batch 1, one stream with all usable threads, one image after the other.
// Throughput: batch 1, a stream for each usable thread, two images in flight per stream.
// Both are measured in kEngineRounds rounds over all networks (model_chart/engine_rounds.h), so all processes are alive
// at the same time.
//
// Weights are random unless files are given; that does not change the time. run_infer() measures the accuracy of
// networks with weights if there are validation data.
//
// Threads: one caller. Memory: the processes, and libtorch in this one.
// Failure: before anything is measured, Error(kArgument) or Error(kInput) for names, weights, data and sizes that do
//          not fit, Error(kMissing) without an engine, Error(kMemory) if the processes do not fit. Error(kCancelled).
//          A network that the engine rejects, or on which it crashes, becomes a RejectedModel.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/model_chart/candidates.h"
#include "unstarve/jobs/model_chart/engine_rounds.h"
#include "unstarve/jobs/model_chart/published.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct Report;

struct ModelsOptions {
  std::vector<CandidateNetwork> candidates;  // not empty
  int image_size = 224;
  int classes = 0;              // of random weights; 0: those of the first weights, else 1000
  double seconds = 0;           // of measurements of all networks together; 0: kSecondsPerNetwork each
  std::string engine = "auto";  // engine_table.h; auto: the first one that is installed
  std::string program;          // path of this program
  PipelineSpec validation;      // data of the accuracy; without a source: none
  bool validation_is_spec = false;
};

inline constexpr double kSecondsPerNetwork = 5;

struct MeasuredAccuracy {
  std::uint64_t correct = 0, labelled = 0;
  double top1 = 0;
  ConfidenceInterval interval;  // 95 %
};

struct ModelRow {
  std::string network;
  std::filesystem::path weights;  // "": random
  std::int64_t classes = 0;
  std::int64_t parameters = 0;     // trained ones
  std::uint64_t weight_bytes = 0;  // of the ONNX file, float32, with folded batch norms
  double multiply_adds = 0;        // of one image
  LatencySummary latency;
  RateSummary throughput;  // images/s
  std::optional<MeasuredAccuracy> accuracy;
  std::optional<PublishedAccuracy> published;  // of a network of the zoo with random weights and 1000 classes
  std::optional<bool> front;                   // on the Pareto front; nothing: without an accuracy to compare
};

struct RejectedModel {
  std::string network;
  std::filesystem::path weights;
  std::string reason;
};

// Which accuracy the Pareto front compares.
enum class FrontBasis { kNone, kMeasured, kPublished };

struct ModelsResult {
  int image_size = 0;
  std::string engine, engine_version, precision;  // precision "": not reported
  int threads = 0;
  double seconds = 0;      // of the measurements
  std::string validation;  // "": none
  FrontBasis basis = FrontBasis::kNone;
  std::vector<ModelRow> rows;  // the lowest latency first
  std::vector<RejectedModel> rejected;
  std::vector<LeftOutEngine> left_out;  // engines that are not installed
};

[[nodiscard]] ModelsResult run_models(const ModelsOptions& options, const Progress& progress = {},
                                      std::stop_token stop = {});

// Marks the front: by measured accuracies if all rows have one, else by the published ones.
void mark_front(ModelsResult& result);

[[nodiscard]] std::string to_text(const ModelsResult& result);
// See "models" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const ModelsResult& result);
[[nodiscard]] Report report_of(const ModelsResult& result, const std::string& command);

}  // namespace unstarve
