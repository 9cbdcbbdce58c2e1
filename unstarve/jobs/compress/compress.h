#pragma once
// `unstarve compress`: makes a trained model small and fast, step by step (step_ledger.h).
//
//   model ─▶ fold ─▶ int8 ─▶ fewer int8 layers, if the accuracy requires it ─▶ else int8 weights of linear layers
//         ─▶ bfloat16 ─▶ engines ─▶ threads
//
// Threads: one caller; engines are processes of their own.
// Files:   model.onnx, settings.json and ledger.json (docs/reference/models.md); model-7bits.onnx if model.onnx loses
//          too much accuracy on CPUs without VNNI, else one of an earlier run is removed.
// Failure: Error as import_model(), open_images(), calibrate() and StepLedger; Error(kArgument) if `out` would replace
//          the model. The files of `out` are written at the end, each complete or not at all.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/infer/engines/choose_engine.h"
#include "unstarve/infer/import/import_model.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/compress/step_ledger.h"
#include "unstarve/observe/report.h"

namespace unstarve {

struct CompressOptions {
  std::filesystem::path model;
  infer::ImportOptions import{};
  EvaluationData data{};                // to calibrate with
  std::optional<EvaluationData> val{};  // to check the accuracy with; nothing: images of `data` that do not calibrate
  double max_accuracy_loss = 0.005;     // against the original model, as a share of the images
  std::filesystem::path out{};          // folder for model.onnx, settings.json and ledger.json
  std::string engine = "auto";          // engine_table.h; "auto": OpenVINO first, others in a step
  std::string program{};                // path of this program
  std::uint64_t images = 500;           // to calibrate with
  std::uint64_t val_images = 0;         // 0: all
  int pairs = 30;                       // of interleaved runs for a step, at most; at least 6
};

// One of the two models that the result compares.
struct CompressedFigures {
  std::string engine{};
  std::string engine_version{};
  EngineSettings settings{};      // for latency
  double p50_ms = 0, p99_ms = 0;  // of a batch of 1, in interleaved runs of both models
  EngineRate throughput{};        // with the fastest streams and batch
  ShareInterval accuracy{};
  ModelSize size{};
};

// A result in int8 on x86 CPUs without VNNI, measured in OpenVINO with fewer instructions on this one.
struct Portability {
  std::string failure{};                           // why it was not measured; "": it was
  ShareInterval loss{};                            // against the original
  std::optional<ShareInterval> seven_bits{};       // with weights of 7 bits, if the result loses too much
  std::optional<infer::Graph> seven_bits_model{};  // of `seven_bits`
};
// The file of Portability::seven_bits_model.
inline constexpr const char* kSevenBitsFile = "model-7bits.onnx";

// The original in libtorch and float32, which is how a training program would run it.
struct ReferenceSpeed {
  std::optional<RatioInterval> speed{};  // of the result, relative to it
  double p50_ms = 0;
  std::string failure{};  // without speed: why
};

struct CompressResult {
  std::string model{}, data{}, val{};
  bool labelled = false;  // otherwise accuracy is the agreement with the original model
  std::uint64_t calibration_images = 0;
  std::size_t layers = 0;  // that int8 can compute
  double max_accuracy_loss = 0;
  std::vector<CompressStep> steps{};
  CompressedFigures before{}, after{};
  RatioInterval speed{};  // of the result, relative to the original
  ShareInterval loss{};
  ReferenceSpeed reference{};
  std::optional<Portability> portability{};  // of int8 with weights of 8 bits, on a CPU with VNNI
  std::filesystem::path out{};
};

[[nodiscard]] CompressResult run_compress(const CompressOptions& options, const Progress& progress = {},
                                          const std::stop_token& stop = {});

[[nodiscard]] std::string to_text(const CompressResult& result);
[[nodiscard]] Report report_of(const CompressResult& result, const std::string& command);
// See "compress" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const CompressResult& result);

}  // namespace unstarve
