#pragma once
// `unstarve export MODEL --out FILE.onnx`: writes a trained model as an ONNX file, with its batch norms folded.
//
// Threads: one caller; libtorch starts its own.
// Failure: Error as infer/import/import_model.h; Error(kArgument) if `out` is the model itself or does not end in
//          .onnx; Error(kIo) if it cannot be written. The file appears complete or not at all.
// Cost:    three times the memory of the weights.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/infer/import/import_model.h"
#include "unstarve/infer/passes/pass.h"

namespace unstarve {

struct ExportOptions {
  std::filesystem::path model;
  std::filesystem::path out;
  infer::ImportOptions import{};
  std::string passes{};  // "fold_batch_norm=off,fold_constants=on"; "": all
};

struct ExportResult {
  ExportOptions options{};
  infer::TensorType input{};
  infer::TensorType output{};
  std::vector<infer::PassReport> passes{};
  std::size_t nodes = 0;
  std::int64_t parameters = 0;  // after the passes
  std::uint64_t weight_bytes = 0;
  std::uint64_t file_bytes = 0;
};

[[nodiscard]] ExportResult run_export(const ExportOptions& options);

[[nodiscard]] std::string to_json(const ExportResult& result);
[[nodiscard]] std::string to_text(const ExportResult& result);

}  // namespace unstarve
