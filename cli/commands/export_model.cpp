#include "unstarve/jobs/export_model.h"

#include "shared.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string&) {
  check_outputs(arguments, {"--out"});
  ExportOptions options;
  options.model = arguments.text("MODEL");
  options.out = arguments.text("--out");
  options.import.model = arguments.text("--model");
  options.import.image_size = arguments.integer("--image-size", 0, 1, 1 << 14);
  options.import.classes = arguments.integer("--classes", 0, 1, 1 << 20);
  options.passes = arguments.text("--passes");
  const ExportResult result = run_export(options);
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  return kDone;
}

}  // namespace

Command export_command() {
  return {"export",
          "Write a trained model as an ONNX file",
          "Reads a checkpoint, weights of torchvision, a TorchScript file or an ONNX file, removes nodes that change "
          "nothing, folds constants and batch norms, and writes an ONNX file of opset 17. Its input is a batch of "
          "normalised images, N x 3 x H x W, of any batch size. Prints the nodes before and after each pass.",
          "  unstarve export checkpoints/ --out model.onnx\n"
          "  unstarve export resnet50.safetensors --model resnet50 --out resnet50.onnx\n"
          "  unstarve export scripted.pt --image-size 299 --out scripted.onnx --json",
          {{"MODEL", "", "", "folder of checkpoints, weights (.safetensors), TorchScript (.pt) or ONNX (.onnx)", true,
            Completes::kPath},
           {"--out", "FILE", "", "ONNX file to write; not the model itself", true, Completes::kPath},
           {"--model", "NAME", "that in the checkpoint",
            "network of the weights; mobilenet_v2_0.5 has half the channels", false, Completes::kModel},
           {"--image-size", "PX", "that of the network or file, else 224", "side length of the images, in pixels"},
           {"--classes", "N", "those of the weights", "fail if the model has another number of classes"},
           {"--passes", "LIST", "all on",
            "switch passes off: fold_batch_norm=off,fold_constants=off,remove_identities=off"},
           json_option()},
          run};
}

}  // namespace unstarve::cli
