#include "unstarve/jobs/models.h"

#include <utility>

#include "../options/inference.h"
#include "../options/shared.h"
#include "unstarve/core/error.h"

namespace unstarve::cli {
namespace {

ModelsOptions models_options_from(const Arguments& arguments) {
  ModelsOptions options;
  for (const std::string& word : arguments.rest()) options.candidates.push_back(candidate_of_weights(word));
  if (arguments.has("--networks") || options.candidates.empty())
    for (CandidateNetwork& each : candidates_named(arguments.text("--networks", "default")))
      options.candidates.push_back(std::move(each));
  options.image_size = static_cast<int>(arguments.integer("--size", options.image_size, 8, 4096));
  options.classes = static_cast<int>(arguments.integer("--classes", 0, 2, 1 << 20));
  options.seconds = arguments.number("--seconds", 0, 0.1, 36000);
  options.engine = arguments.text("--engine", options.engine);
  options.program = program_path();
  if (!arguments.has("--val")) {
    if (arguments.has("--val-split"))
      throw Error(ErrorKind::kArgument, "--val-split: found no validation data; expected --val too");
    return options;
  }
  if (arguments.rest().empty())
    throw Error(ErrorKind::kArgument, "--val: found no weights, and random ones have no accuracy; expected --weights");
  EvaluationData validation = evaluation_data_from(arguments, "--val", "--val-split");
  options.validation = std::move(validation.spec);
  options.validation_is_spec = validation.is_spec;
  return options;
}

int run_models_command(const Arguments& arguments, const std::string& command_line) {
  check_outputs(arguments, {"--report"});
  const ModelsOptions options = models_options_from(arguments);
  const ModelsResult result = with_progress_and_signals(
      [&](const Progress& progress, std::stop_token stop) { return run_models(options, progress, std::move(stop)); });
  print_result(arguments, result);
  if (arguments.has("--report")) write_report(report_of(result, command_line), arguments.text("--report"));
  return kDone;
}

}  // namespace

Command models_command() {
  return {"models",
          "Compare networks on this machine: latency, throughput, size, accuracy",
          "Measures the inference of each network with one engine, batch 1: the latency of one image with all cores, "
          "and images per second with a stream per core. All networks are measured in interleaved rounds, so that a "
          "slow phase of the machine affects all networks alike. Without --weights, networks have random weights, "
          "which does not change the time. The table has parameters, multiply-adds and the accuracy on ImageNet that "
          "the authors published; with --weights and --val the accuracy is measured. The networks of the Pareto front "
          "are marked: no other network is at least as fast and at least as accurate.",
          "  unstarve models --size 224 --report models.html\n"
          "  unstarve models --networks default,mobilenet_v2_1.4 --seconds 60 --json\n"
          "  unstarve models --weights checkpoints/ resnet50.safetensors --val photos/val",
          {{"--networks", "LIST", "default, or the networks of --weights",
            "networks, separated by commas; mobilenet_v2_0.5 has half the channels of mobilenet_v2, and `default` "
            "means ResNet-18, 34 and 50, MobileNets of several widths and EfficientNet-B0",
            false, Completes::kModel},
           {.name = "--weights",
            .value = "FILE...",
            .fallback = "",
            .help = "checkpoints, folders of them, torchvision weights, TorchScript or ONNX files; NAME=FILE for "
                    "weights that do not name their network, and to name TorchScript and ONNX files in the table",
            .completes = Completes::kPath,
            .several = true},
           {"--val", "DATA", "", "validation data, to measure the accuracy of the networks with weights", false,
            Completes::kPath},
           {"--val-split", "NAME", "", "split of the validation data: train, test or val"},
           {"--size", "PX", "224", "side length of the images, in pixels"},
           {"--classes", "N", "classes of the weights, else 1000", "number of classes of networks with random weights"},
           {"--seconds", "S", "5 per network", "duration of the measurements of all networks together"},
           {"--engine", "NAME", "auto",
            "engine: openvino, onnxruntime, or the first one that is installed (auto); tensorrt or libtorch only on "
            "request",
            false, Completes::kNothing, "auto openvino onnxruntime tensorrt libtorch"},
           report_option(),
           json_option()},
          run_models_command};
}

}  // namespace unstarve::cli
