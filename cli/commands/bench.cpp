#include "unstarve/jobs/bench.h"

#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/jobs/settings/settings_file.h"

namespace unstarve::cli {
namespace {

int run_bench_command(const Arguments& arguments, const std::string& command_line) {
  check_measurement_files(arguments);
  BenchOptions options;
  options.settings = settings_from(arguments);
  options.target = parse_target(device_from(arguments, options.settings));
  options.seconds = arguments.number("--seconds", 20, 0.1, 86400);
  options.may_reduce_batch = !arguments.has("--batch") && !arguments.has("--config") && !arguments.has("--recipe") &&
                             detect_spec(arguments.text("DATA")).kind == SpecKind::kNone;
  const BenchResult result = with_progress([&](const Progress& progress) { return run_bench(options, progress); });
  print_result(arguments, result);
  write_measurement_files(arguments, recording_of(result, command_line), report_of(result, command_line));
  return kDone;
}

}  // namespace

Command bench_command() {
  return {
      "bench",
      "Find the bottleneck: storage, loader, copy and network, each alone and all together",
      "Measures storage, loader, copy and network, each alone and all together, and names the bottleneck in one "
      "sentence. An emulated accelerator holds each batch for as long as the real one would compute on it. A "
      "machine without a GPU can thus measure how well it would feed one.",
      "  unstarve bench photos/ --model resnet18 --device cpu --seconds 20\n"
      "  unstarve bench photos/ --device emulated:h100-resnet50 --json\n"
      "  unstarve bench pipeline.yaml --seconds 5",
      settings_options({{"--seconds", "S", "20",
                         "duration of warm-up and measurement; longer if one round takes longer, and on a GPU, where "
                         "kernels are chosen first. Without --batch, the batch size is reduced if steps are too "
                         "slow"},
                        trace_option(),
                        tensorboard_option(),
                        report_option()}),
      run_bench_command};
}

}  // namespace unstarve::cli
