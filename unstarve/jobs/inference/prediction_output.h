#pragma once
// Writes the file of --out from the rows of a part, in the format of its extension:
//
//   .csv       index, name, label, class, probability, class_2, probability_2, ...; with class names also label_name
//              and class_name. RFC 4180
//   .parquet   the same columns
//   .npy       float32, samples x outputs: what the model computed
//
// `index` is the number of the sample in the data, `name` the file or record. The label is empty (null) if unknown.
//
// Threads: one. Memory: one block of rows. Failure: Error(kIo) of the file, Error(kMissing) for Parquet without Arrow.

#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/jobs/inference/prediction_part.h"

namespace unstarve {

class Dataset;

enum class PredictionFormat { kCsv, kParquet, kNpy };

// By the extension; throws Error(kArgument) for others.
[[nodiscard]] PredictionFormat prediction_format(const std::filesystem::path& out);

// Throws what write_predictions() would because this build or machine lacks a component.
void require_format(const std::filesystem::path& out);

// The values of a row: all outputs for kNpy, otherwise pairs of class and probability.
[[nodiscard]] std::size_t values_per_row(PredictionFormat format, std::size_t outputs, std::size_t top);

// Writes `out` and, when it is complete, replaces a file of that name.
void write_predictions(const PredictionPart& part, const Dataset& dataset, const std::filesystem::path& out,
                       const std::vector<std::string>& classes, std::size_t values);

}  // namespace unstarve
