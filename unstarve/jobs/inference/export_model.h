#pragma once
// `unstarve export MODEL --out FILE.onnx`: writes a trained model as an ONNX file, with its batch norms folded; with
// `prune_channels`, with fewer channels (infer/pruning/prune_channels.h); with `int8`, or if it was trained for int8,
// its layers are quantised (infer/int8/quantise.h).
//
// Threads: one caller; libtorch starts its own.
// Failure: Error as infer/import/import_model.h; Error(kArgument) if `out` is the model itself or does not end in
//          .onnx; Error(kIo) if it cannot be written. The file appears complete or not at all. Error as
//          prune_channels().
//          With int8 also as calibrate(), and Error(kInput) if no layer can be quantised, or if an engine computes none
//          of them in int8: a model that is smaller but not faster would be a surprise.
// Cost:    three times the memory of the weights; with int8 also that of calibrate().

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/infer/engines/engine.h"
#include "unstarve/infer/import/import_model.h"
#include "unstarve/infer/int8/activation_histogram.h"
#include "unstarve/infer/int8/quantise.h"
#include "unstarve/infer/passes/pass.h"
#include "unstarve/infer/pruning/prune_channels.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/inference/calibrate.h"

namespace unstarve {

struct Int8Options {
  EvaluationData data{};  // the images to calibrate with
  CalibrationOptions calibration{};
  infer::CalibrationMethod method = infer::CalibrationMethod::kMse;
};

struct ExportOptions {
  std::filesystem::path model;
  std::filesystem::path out;
  infer::ImportOptions import{};
  std::string passes{};                   // "fold_batch_norm=off,fold_constants=on"; "": all
  double prune_channels = 0;              // the share of the multiply-adds to remove; 0: none
  std::optional<Int8Options> int8{};      // not for a model that was trained for int8
  std::optional<infer::Int8Form> form{};  // only for `int8` and models that were trained for it; nothing: the default
  bool int8_weights = false;  // store weights of Gemm and MatMul as int8, without calibration; not with `int8`
};

struct Int8Result {
  std::size_t layers = 0;     // that int8 can compute
  std::uint64_t images = 0;   // of the calibration; 0: trained for int8, then all that follows is empty
  int equalised = 0;          // activations with equalised channels (infer/int8/equalise.h)
  std::string engine{};       // which compiled the file
  CompiledFacts compiled{};   // its kernels
  int int8_kernels = 0;       // of these
  bool may_overflow = false;  // on this machine (observe/machine.h)
};

struct ExportResult {
  ExportOptions options{};
  infer::TensorType input{};
  infer::TensorType output{};
  std::vector<infer::PassReport> passes{};
  std::size_t nodes = 0;
  std::int64_t parameters = 0;  // after the passes
  std::optional<PrunedChannels> pruned{};
  std::uint64_t weight_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::optional<Int8Result> int8{};
};

[[nodiscard]] ExportResult run_export(const ExportOptions& options, const Progress& progress = {},
                                      std::stop_token stop = {});

[[nodiscard]] std::string to_json(const ExportResult& result);
[[nodiscard]] std::string to_text(const ExportResult& result);

}  // namespace unstarve
