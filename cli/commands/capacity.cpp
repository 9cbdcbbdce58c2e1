#include "unstarve/jobs/capacity.h"

#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/settings/settings_file.h"

namespace unstarve::cli {
namespace {

constexpr long long kMostSampleBytes = 1LL << 40;
// Of the loader, which raw samples bypass.
constexpr const char* kLoaderOptions[] = {"--split",  "--image-size",   "--config",       "--read-ahead", "--order",
                                          "--passes", "--memory-limit", "--cache-folder", "--cache-mb",   "--cache"};

// The path of raw samples, which `reason` requires.
std::string raw_from(const Arguments& arguments, const std::string& reason) {
  for (const char* const option : kLoaderOptions)
    if (arguments.has(option))
      throw Error(ErrorKind::kArgument, reason + ": found " + option +
                                            ", which is an option of the loader; expected only --threads and "
                                            "--sample-bytes. Remove one of them.");
  const std::string data = arguments.text("DATA");
  if (data.empty()) throw Error(ErrorKind::kArgument, "DATA: not given; expected a file or a folder of files");
  if (detect_spec(data).kind != SpecKind::kNone)
    throw Error(ErrorKind::kArgument,
                reason + ": found the spec " + data + "; expected files. Pass the path of its source.");
  return data;
}

int run_capacity_command(const Arguments& arguments, const std::string& command_line) {
  check_measurement_files(arguments);
  CapacityOptions options;
  options.accelerator = arguments.text("--accelerator", options.accelerator);
  options.workload = arguments.text("--workload", options.workload);
  const bool images = is_image_workload(options.accelerator, options.workload);  // before opening the data
  options.batch = static_cast<int>(arguments.integer("--batch", 0, 1, 1 << 20));
  options.ranks = static_cast<int>(arguments.integer("--ranks", 0, 1, 1 << 20));
  options.min_utilisation = arguments.number("--utilisation", 0, 1, 100) / 100;
  options.seconds = arguments.number("--seconds", 30, 0.1, 86400);
  options.sample_bytes = static_cast<std::uint64_t>(arguments.integer("--sample-bytes", 0, 1, kMostSampleBytes));
  if (arguments.has("--raw") || !images) {
    options.raw = raw_from(arguments, images ? "--raw" : "--workload " + options.workload);
    options.settings.pipeline.execution.threads = static_cast<int>(arguments.integer("--threads", 0, 1, 1024));
  } else {
    if (arguments.has("--sample-bytes"))
      throw Error(ErrorKind::kArgument,
                  "--sample-bytes: found without --raw; images have sizes of their own. Pass --raw.");
    options.settings = settings_from(arguments);
  }
  const CapacityResult result =
      with_progress([&](const Progress& progress) { return run_capacity(options, progress); });
  print_result(arguments, result);
  write_measurement_files(arguments, recording_of(result, command_line), report_of(result, command_line));
  return kDone;
}

}  // namespace

Command capacity_command() {
  return {"capacity",
          "Find how many accelerators this host can feed with your data",
          "Measures the loader, then emulates accelerators with the step times and batch sizes of MLPerf Storage, and "
          "finds the largest number of accelerators that reach the utilisation that MLPerf Storage requires. Names the "
          "bottleneck, and predicts the number for more cores and faster storage. Batches end in host memory; the copy "
          "to an accelerator is not measured.",
          "  unstarve capacity photos/ --accelerator h100 --workload resnet50\n"
          "  unstarve capacity photos/ --accelerator b200 --workload retinanet --ranks 1 --json\n"
          "  unstarve capacity volumes/ --accelerator h100 --workload unet3d",
          {data_option(false),
           split_option(),
           {"--accelerator", "NAME", "h100", "b200, h100, a100, v100 or mi355", false, Completes::kNothing,
            "b200 h100 a100 v100 mi355"},
           {"--workload", "NAME", "resnet50",
            "images: resnet50, retinanet, flux; raw samples: unet3d, cosmoflow, bert, dlrm. Not every accelerator has "
            "every workload",
            false, Completes::kNothing, "resnet50 retinanet flux unet3d cosmoflow bert dlrm"},
           {"--ranks", "N", "all",
            "number of accelerators per job, which wait for each other after every step; 1: none waits"},
           {"--utilisation", "PERCENT", "as the workload, else 90", "required utilisation of an accelerator"},
           {"--batch", "N", "as the workload", "samples per step; the time per sample stays the same"},
           {"--raw", "", "",
            "read the files of DATA as raw samples, without decoding; implied by workloads of raw samples"},
           {"--sample-bytes", "N", "as the workload", "size of a raw sample in bytes"},
           image_size_option(),
           config_option(),
           {"--threads", "N", "all usable cores; for raw samples at least 16", "worker threads of the loader"},
           read_ahead_option(),
           order_option(),
           memory_limit_option(),
           passes_option(),
           cache_option(),
           cache_folder_option(),
           cache_limit_option(),
           {"--seconds", "S", "30",
            "duration in seconds; longer if steps are long or many numbers of accelerators are tried"},
           trace_option(),
           tensorboard_option(),
           report_option(),
           json_option()},
          run_capacity_command};
}

}  // namespace unstarve::cli
