#pragma once
// `unstarve infer`: the predictions of an ONNX model for every sample of a dataset.
//
// The engine and its settings are those that compress chose (model_settings.h), else they are chosen by measurement.
//
//   Loader ── batches ──▶ EngineProcess, several in flight ── outputs ──▶ PredictionPart ── at the end ──▶ --out
//
// Samples are prepared as the evaluation of `train` does: operations of the spec, else resize and centre crop to the
// size of the model's input, and the normalisation of evaluation_pipeline().
//
// Rows are in storage order. A run that ended early, also by SIGKILL, continues with `resume` after its last batch.
//
// Threads: one caller. Memory: that of the loader, the batches in flight and one block of rows.
// Failure: Error(kArgument) or Error(kInput) if model, data and options do not fit, before anything is written; as
//          Loader and EngineProcess; Error(kInput) for an output that is not a finite number.

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/infer/engines/choose_engine.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct InferOptions {
  std::filesystem::path model;  // .onnx
  PipelineSpec data;            // source, filters, operations, normalisation, errors
  bool is_spec = false;         // whether `data` has operations and normalisation of its own
  std::filesystem::path out;    // "": no predictions are written
  std::string engine;           // engine_table.h; "": as settings_next_to() the model, else "auto"
  std::string program;          // path of this program
  int batch = 0;                // 0: as settings_next_to() the model, else chosen by measurement
  int image_size = 0;           // 0: that of the model
  int top = 1;                  // classes per row
  bool resume = false;          // continue the run that was interrupted, if any
  double measure_seconds = 6;   // for the choice of engine, streams and batch
};

struct InferResult {
  std::string model, data, engine, engine_version;
  EngineRate engine_rate;  // of the engine alone, as measured before the run
  CompiledFacts compiled;
  std::vector<LeftOutEngine> left_out;
  std::filesystem::path settings_file;     // of compress; "": none was used
  std::vector<std::string> from_settings;  // what it decided: "engine", "precision", "streams", "threads", "batch"
  int image_size = 0;
  Normalisation normalisation;
  std::size_t classes = 0;
  std::uint64_t samples = 0, resumed = 0, bad = 0;  // samples: all rows, of which `resumed` are of earlier runs
  double seconds = 0;                               // of the loop
  double loader_wait_s = 0, engine_wait_s = 0;      // in which the loop waited
  std::uint64_t labelled = 0;                       // rows whose label is known and a class of the model
  std::uint64_t correct = 0, correct_top = 0;       // of these, where the label is the first class, or one of `top`
  int top = 1;
  std::filesystem::path out;

  [[nodiscard]] double samples_per_s() const {
    return seconds > 0 ? static_cast<double>(samples - resumed) / seconds : 0;
  }
  [[nodiscard]] bool engine_limits() const { return engine_wait_s >= loader_wait_s; }
};

[[nodiscard]] InferResult run_infer(const InferOptions& options, const Progress& progress = {},
                                    std::stop_token stop = {});

// The largest values of a row of outputs as pairs of class and probability, in `pairs`, whose length is two times their
// number. Outputs that are probabilities (not negative, sum 1 within 1e-4) remain; others become probabilities by
// softmax. `scratch`: memory that is used again.
void top_classes(std::span<const float> outputs, std::span<float> pairs, std::vector<std::uint32_t>& scratch);

[[nodiscard]] std::string to_text(const InferResult& result);
// See "infer" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const InferResult& result);

}  // namespace unstarve
