// Probabilities and messages without an engine; tests/python/infer has whole runs.

#include "unstarve/jobs/inference/infer.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/jobs/inference/prediction_output.h"

namespace unstarve {
namespace {

using testing::error_message;

std::vector<std::uint32_t> scratch;

}  // namespace

TEST_CASE("the largest outputs become probabilities by softmax") {
  std::array<float, 4> pairs{};
  top_classes(std::array<float, 3>{1, 3, 2}, pairs, scratch);
  const double total = 1 + std::exp(-1.0) + std::exp(-2.0);
  CHECK(pairs[0] == 1);
  CHECK(pairs[1] == Approx(1 / total));
  CHECK(pairs[2] == 2);
  CHECK(pairs[3] == Approx(std::exp(-1.0) / total));
}

TEST_CASE("large outputs do not overflow, and equal ones are in the order of the classes") {
  std::array<float, 4> pairs{};
  top_classes(std::array<float, 3>{1e30F, -1e30F, 1e30F}, pairs, scratch);
  CHECK(pairs == std::array<float, 4>{0, 0.5F, 2, 0.5F});
}

TEST_CASE("outputs that are probabilities are not changed") {
  std::array<float, 2> pairs{};
  top_classes(std::array<float, 3>{0.25F, 0.125F, 0.625F}, pairs, scratch);
  CHECK(pairs == std::array<float, 2>{2, 0.625F});
}

TEST_CASE("the format is that of the extension") {
  CHECK(prediction_format("a.csv") == PredictionFormat::kCsv);
  CHECK(prediction_format("dir.x/a.parquet") == PredictionFormat::kParquet);
  CHECK(prediction_format("a.npy") == PredictionFormat::kNpy);
  CHECK(error_message([] { (void)prediction_format("a.txt"); }, ErrorKind::kArgument) ==
        "--out a.txt: found the extension \".txt\"; expected .csv, .parquet or .npy");
  CHECK(values_per_row(PredictionFormat::kCsv, 1000, 5) == 10);
  CHECK(values_per_row(PredictionFormat::kNpy, 1000, 5) == 1000);
}

TEST_CASE("faults of the options are found before the data is opened") {
  InferOptions options;
  const auto message = [&](ErrorKind kind) { return error_message([&] { (void)run_infer(options); }, kind); };
  options.model = "model.pt";
  CHECK(message(ErrorKind::kArgument) ==
        "infer model.pt: found the extension \".pt\"; expected an ONNX file (.onnx). For a checkpoint, run unstarve "
        "export model.pt --out model.onnx");
  options.model = "/no/such/model.onnx";
  CHECK(message(ErrorKind::kIo) == "open /no/such/model.onnx: No such file or directory");
}

}  // namespace unstarve
