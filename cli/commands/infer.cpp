#include "unstarve/jobs/inference/infer.h"

#include <utility>

#include "../options/inference.h"
#include "../options/shared.h"

namespace unstarve::cli {
namespace {

int run_infer_command(const Arguments& arguments, const std::string&) {
  check_outputs(arguments, {"--out"});
  InferOptions options;
  options.model = arguments.text("MODEL");
  const EvaluationData data = evaluation_data_from(arguments, "DATA");
  options.data = data.spec;
  options.is_spec = data.is_spec;
  options.out = arguments.text("--out");
  options.engine = arguments.text("--engine");
  options.program = program_path();
  options.batch = static_cast<int>(arguments.integer("--batch", 0, 1, 1 << 16));
  options.image_size = static_cast<int>(arguments.integer("--image-size", 0, 8, 4096));
  options.top = static_cast<int>(arguments.integer("--top", 1, 1, 1 << 20));
  options.resume = arguments.has("--resume");
  const InferResult result = with_progress_and_signals(
      [&](const Progress& progress, std::stop_token stop) { return run_infer(options, progress, std::move(stop)); });
  print_result(arguments, result);
  return kDone;
}

}  // namespace

Command infer_command() {
  return {
      "infer",
      "Predict the class of every image with an ONNX model",
      "Prepares the images in the same way as the evaluations of train, keeps several batches in flight, and writes "
      "one row per sample. The engine, the number of streams and the batch size are those of settings.json, which "
      "compress writes next to its model; without it, they are chosen by a measurement of some seconds. An engine that "
      "crashes is not used. --resume continues an interrupted run.",
      "  unstarve infer model.onnx photos/ --out predictions.csv --top 5\n"
      "  unstarve infer model.onnx photos/val --json\n"
      "  unstarve infer model.onnx eval.yaml --out outputs.npy --engine openvino --batch 8 --resume",
      {{"MODEL", "", "", "ONNX file with one float32 input, batch x 3 x height x width, and batch x classes outputs",
        true, Completes::kPath},
       data_option(),
       split_option(),
       {"--out", "FILE", "",
        "write the predictions: .csv or .parquet (index, name, label, class, probability), or .npy (all outputs)",
        false, Completes::kPath},
       engine_option("that of settings.json next to the model, else auto"),
       {"--batch", "N", "batch size of the model or settings.json, else the fastest", "samples per batch"},
       {"--image-size", "PX", "size of the model", "side length of the images, for a model with a dynamic size"},
       {"--top", "N", "1", "number of classes per row, most probable first"},
       {"--resume", "", "", "continue an interrupted run with the same --out"},
       json_option()},
      run_infer_command};
}

}  // namespace unstarve::cli
