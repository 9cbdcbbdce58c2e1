#include "unstarve/jobs/inference/infer.h"

#include <filesystem>

#include "../stop_on_signal.h"
#include "../terminal.h"
#include "shared.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/settings/settings_file.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string&) {
  check_outputs(arguments, {"--out"});
  InferOptions options;
  options.model = arguments.text("MODEL");
  options.data = spec_from(arguments);
  const SpecKind kind = detect_spec(arguments.text("DATA")).kind;
  options.is_spec = kind != SpecKind::kNone;
  if (kind == SpecKind::kSettings) options.data.operations.clear();  // those of the training
  options.out = arguments.text("--out");
  options.engine = arguments.text("--engine", options.engine);
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.batch = static_cast<int>(arguments.integer("--batch", 0, 1, 1 << 16));
  options.image_size = static_cast<int>(arguments.integer("--image-size", 0, 8, 4096));
  options.top = static_cast<int>(arguments.integer("--top", 1, 1, 1 << 20));
  options.resume = arguments.has("--resume");
  InferResult result;
  {
    ProgressBar bar;
    StopOnSignal signals;
    try {
      result = run_infer(options, bar.callback(), signals.token());
    } catch (const Error& failure) {
      if (failure.kind() == ErrorKind::kCancelled && signals.received() != 0)
        throw Interrupted(failure, signals.received());
      throw;
    }
  }
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  return kDone;
}

}  // namespace

Command infer_command() {
  return {
      "infer",
      "Predict the class of every image with an ONNX model",
      "Loads the images as evaluations of train do, keeps several batches in flight in the engine, and writes one row "
      "per sample. Engine, streams and batch are chosen by a measurement of some seconds. An engine that crashes is "
      "left out. An interrupted run continues with --resume.",
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
       {"--engine", "NAME", "auto", "engine: openvino, onnxruntime, or the faster one (auto)", false,
        Completes::kNothing, "auto openvino onnxruntime"},
       {"--batch", "N", "that of the model, else the fastest", "samples per batch"},
       {"--image-size", "PX", "that of the model", "side length of the images, for a model without one"},
       {"--top", "N", "1", "number of classes per row, most probable first"},
       {"--resume", "", "", "continue an interrupted run with the same --out"},
       json_option()},
      run};
}

}  // namespace unstarve::cli
