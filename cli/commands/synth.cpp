#include "unstarve/jobs/data/synth.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/core/json.h"
#include "unstarve/observe/format.h"

namespace unstarve::cli {
namespace {

int run_synth_command(const Arguments& arguments, const std::string&) {
  const std::string folder = arguments.text("DIR");
  SynthOptions options;
  options.classes = static_cast<int>(arguments.integer("--classes", options.classes, 2, 1000));
  options.images = static_cast<std::uint64_t>(arguments.integer("--images", 2000, 1, 100'000'000));
  options.size = static_cast<int>(arguments.integer("--size", options.size, 8, 8192));
  options.seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, 0, 1LL << 62));
  options.test_images = static_cast<std::uint64_t>(arguments.integer("--test-images", 0, 0, 100'000'000));
  const SynthResult result =
      with_progress([&](const Progress& progress) { return run_synth(folder, options, progress); });
  if (arguments.has("--json")) {
    print_result(json_text(nlohmann::ordered_json{{"path", folder},
                                                  {"images", result.images},
                                                  {"bytes", result.bytes},
                                                  {"already_there", result.already_there}}) +
                 "\n");
  } else {
    print_result(fmt::format("{}: {} images, {}{}\n", printable(folder), result.images, format_bytes(result.bytes),
                             result.already_there ? " (already there)" : ""));
  }
  return kDone;
}

}  // namespace

Command synth_command() {
  return {
      "synth",
      "Write a synthetic, learnable JPEG dataset of shapes and textures",
      "The seed determines every byte. At 32 pixels the dataset resembles CIFAR, at 500 pixels photographs of about "
      "100 KB. With --test-images it is split into DIR/train and DIR/test.",
      "  unstarve synth shapes/ --classes 10 --images 2000 --size 500 --seed 1",
      {{"DIR", "", "", "folder to create", true, Completes::kPath},
       {"--classes", "N", "10", "number of classes"},
       {"--images", "N", "2000", "number of images"},
       {"--size", "PX", "500", "longer side of an image, in pixels"},
       {"--seed", "N", "1", "seed of the images"},
       {"--test-images", "N", "0", "number of further images for DIR/test"},
       json_option()},
      run_synth_command};
}

}  // namespace unstarve::cli
