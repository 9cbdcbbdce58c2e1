#include "unstarve/jobs/compress/compress.h"

#include "../options/inference.h"
#include "../options/shared.h"

namespace unstarve::cli {
namespace {

int run_compress_command(const Arguments& arguments, const std::string& command_line) {
  check_outputs(arguments, {"--report"});
  const std::filesystem::path out = arguments.text("--out");
  if (std::error_code none; !std::filesystem::exists(out, none) || std::filesystem::is_directory(out, none))
    check_output_folder(arguments, "--out");  // run_compress() has the error for a file
  CompressOptions options;
  options.model = arguments.text("MODEL");
  options.import.model = arguments.text("--model");
  options.import.image_size = arguments.integer("--image-size", 0, 1, 1 << 14);
  options.data = evaluation_data_from(arguments, "--data", "--split");
  if (arguments.has("--val")) options.val = evaluation_data_from(arguments, "--val", "--val-split");
  if (!arguments.has("--val") && arguments.has("--val-split"))
    throw Error(ErrorKind::kArgument, "--val-split: found no --val; expected the images for the accuracy check");
  options.max_accuracy_loss = arguments.number("--max-accuracy-loss", options.max_accuracy_loss, 0, 1);
  options.out = arguments.text("--out");
  options.engine = arguments.text("--engine", options.engine);
  options.program = program_path();
  options.images = static_cast<std::uint64_t>(arguments.integer("--images", 500, 1, 1 << 24));
  options.val_images = static_cast<std::uint64_t>(arguments.integer("--val-images", 0, 1, 1 << 30));
  options.pairs = static_cast<int>(arguments.integer("--pairs", options.pairs, 6, 1000));
  const CompressResult result = with_progress_and_signals(
      [&](const Progress& progress, const std::stop_token& stop) { return run_compress(options, progress, stop); });
  print_result(arguments, result);
  if (arguments.has("--report")) write_report(report_of(result, command_line), arguments.text("--report"));
  return kDone;
}

}  // namespace

Command compress_command() {
  return {"compress",
          "Make a trained model small and fast",
          "Folds batch norms and constants, quantises for int8, and tries bfloat16, other engines and fewer threads. "
          "Every step is compared with the best model so far: speed in interleaved runs on this machine, accuracy on "
          "images that are not used for calibration. A step is kept if the model is faster, or smaller and not slower, "
          "and does not lose too much accuracy; else it is reverted. If int8 in all layers loses too much accuracy, "
          "some layers stay in "
          "float32. Writes an ONNX file, its settings, and the ledger with the result of every step.",
          "  unstarve compress checkpoints/ --data photos/train --val photos/val --out small/\n"
          "  unstarve compress resnet50.safetensors --model resnet50 --data photos/train --val photos/val \\\n"
          "      --max-accuracy-loss 0.01 --out small/\n"
          "  unstarve compress model.onnx --data photos/ --out small/ --json",
          {model_argument(),
           {"--data", "DATA", "", "calibration images: a folder, shards or a spec", true, Completes::kPath},
           {"--split", "NAME", "", "split of --data: train, test or val"},
           {"--val", "DATA", "images of --data that are not used for calibration", "images for the accuracy check",
            false, Completes::kPath},
           {"--val-split", "NAME", "", "split of --val"},
           {"--out", "DIR", "", "folder for model.onnx, settings.json and ledger.json", true, Completes::kPath},
           {"--max-accuracy-loss", "SHARE", "0.005", "largest acceptable loss of accuracy compared with MODEL, 0 to 1"},
           {"--model", "NAME", "network in the checkpoint", "network of the weights", false, Completes::kModel},
           {"--image-size", "PX", "size in the training or file, else that of the network",
            "side length of the images, in pixels"},
           {"--images", "N", "500", "number of calibration images"},
           {"--val-images", "N", "all", "number of images for the accuracy check"},
           {"--pairs", "N", "30", "largest number of pairs of interleaved runs per step"},
           engine_option(),
           report_option(),
           json_option()},
          run_compress_command};
}

}  // namespace unstarve::cli
