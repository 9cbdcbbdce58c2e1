#include "unstarve/jobs/inference/export_model.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "../options/inference.h"
#include "../options/shared.h"

namespace unstarve::cli {
namespace {

infer::CalibrationMethod method_from(const std::string& name) {
  for (const infer::CalibrationMethod method : infer::kCalibrationMethods)
    if (name == infer::name_of(method)) return method;
  throw Error(ErrorKind::kArgument,
              fmt::format("--int8-method: found \"{}\"; expected min-max, percentile, entropy or mse", name));
}

std::optional<Int8Options> int8_from(const Arguments& arguments) {
  const std::string data = arguments.text("--int8");
  for (const char* option : {"--split", "--int8-images", "--int8-method"})
    if (data.empty() && arguments.has(option))
      throw Error(ErrorKind::kArgument,
                  fmt::format("{}: found no --int8; expected --int8 with the calibration images", option));
  if (data.empty()) return std::nullopt;
  Int8Options int8;
  int8.data = evaluation_data_from(arguments, "--int8");
  int8.calibration.images = static_cast<std::uint64_t>(arguments.integer("--int8-images", 500, 1, 1 << 24));
  int8.calibration.program = program_path();
  int8.method = method_from(arguments.text("--int8-method", "mse"));
  return int8;
}

int run_export_model_command(const Arguments& arguments, const std::string&) {
  check_outputs(arguments, {"--out"});
  ExportOptions options;
  options.model = arguments.text("MODEL");
  options.out = arguments.text("--out");
  options.import.model = arguments.text("--model");
  options.import.image_size = arguments.integer("--image-size", 0, 1, 1 << 14);
  options.import.classes = arguments.integer("--classes", 0, 1, 1 << 20);
  options.passes = arguments.text("--passes");
  options.prune_channels = arguments.number("--prune-channels", 0, 0, 1);
  options.int8 = int8_from(arguments);
  options.int8_weights = arguments.has("--int8-weights");
  if (arguments.has("--weight-bits") || arguments.has("--signed-activations"))
    options.form = infer::Int8Form{static_cast<int>(arguments.integer("--weight-bits", 8, 7, 8)),
                                   arguments.has("--signed-activations")};
  if (options.int8 && options.int8_weights)
    throw Error(ErrorKind::kArgument,
                "--int8-weights: found --int8, which stores all weights as int8; expected one of the two options");
  const ExportResult result = with_progress_and_signals(
      [&](const Progress& progress, std::stop_token stop) { return run_export(options, progress, std::move(stop)); });
  print_result(arguments, result);
  return kDone;
}

}  // namespace

Command export_command() {
  return {"export",
          "Write a trained model as an ONNX file",
          "Reads a checkpoint, torchvision weights, a TorchScript file or an ONNX file, removes nodes that change "
          "nothing, folds constants and batch norms, and writes an ONNX file with opset 17. Its input is a batch of "
          "normalised images, N x 3 x H x W, of any batch size. Prints the number of nodes before and after each pass. "
          "With --int8, the file stores weights as int8, and engines compute the layers in int8. The images of --int8 "
          "are prepared in the same way as by infer.",
          "  unstarve export checkpoints/ --out model.onnx\n"
          "  unstarve export resnet50.safetensors --model resnet50 --out resnet50.onnx\n"
          "  unstarve export resnet50.safetensors --model resnet50 --int8 photos/train --out resnet50-int8.onnx\n"
          "  unstarve export scripted.pt --image-size 299 --out scripted.onnx --json",
          {model_argument(),
           {"--out", "FILE", "", "ONNX file to write; must not be MODEL", true, Completes::kPath},
           {"--model", "NAME", "network in the checkpoint",
            "network of the weights; mobilenet_v2_0.5 has half the channels", false, Completes::kModel},
           {"--image-size", "PX", "size in the training or file, else that of the network",
            "side length of the images, in pixels"},
           {"--classes", "N", "classes of the weights", "fail if the model has another number of classes"},
           {"--passes", "LIST", "all on",
            "switch passes off: fold_batch_norm=off,fold_constants=off,remove_identities=off"},
           {"--prune-channels", "SHARE", "0",
            "remove the least important channels until this share of the multiply-adds is gone, 0 to 1; the model then "
            "requires training"},
           {"--int8", "DATA", "", "quantise for int8, calibrated with these images: a folder, shards or a spec", false,
            Completes::kPath},
           split_option(),
           {"--int8-images", "N", "500", "number of calibration images"},
           {"--int8-method", "NAME", "mse", "method for the limits of activations: min-max, percentile, entropy or mse",
            false, Completes::kNothing, "min-max percentile entropy mse"},
           {"--weight-bits", "N", "8", "8, or 7 for CPUs without VNNI, on which 8 bits may overflow"},
           {"--signed-activations", "", "",
            "store all activations as int8, for engines without uint8, such as TensorRT; by default, activations that "
            "cannot be negative are uint8"},
           {"--int8-weights", "", "", "store only the weights of linear layers as int8, and compute them in float32"},
           json_option()},
          run_export_model_command};
}

}  // namespace unstarve::cli
