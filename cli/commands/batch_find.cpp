#include "unstarve/jobs/batch_find.h"

#include <algorithm>
#include <array>

#include "../options/shared.h"
#include "../options/train_flags.h"
#include "../terminal.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/observe/report.h"

namespace unstarve::cli {
namespace {

constexpr int kLargestBatch = 1 << 20;
// Settings that the measurements of one process do not use.
constexpr std::array<std::string_view, 8> kUnusedByBatchFind{"resident",        "schedule.",        "sync_batch_norm",
                                                             "progressive.",    "prune.",           "qat.",
                                                             "evaluation_size", "test_augmentation"};

int run_batch_find_command(const Arguments& arguments, const std::string& command_line) {
  require_one_process("batch-find");
  BatchFindOptions options;
  ConfigurationFaults faults;
  faults.collect([&] { check_outputs(arguments, {"--report"}); });
  // --memory-limit is that of the loader in other commands.
  options.settings = trainer_settings_from(arguments.without("--memory-limit"), faults);
  options.target = {options.settings.train.device};
  const auto batch = [&](int& value, const char* option) {
    faults.collect([&] { value = static_cast<int>(arguments.integer(option, value, 1, kLargestBatch)); });
  };
  batch(options.from, "--from");
  batch(options.to, "--to");
  if (!arguments.has("--from") && options.to > 0) options.from = std::min(options.from, options.to);
  faults.collect([&] { options.seconds = arguments.number("--seconds", options.seconds, 0.1, 3600); });
  faults.collect([&] { options.longest_s = arguments.number("--longest", options.longest_s, 0.1, 36000); });
  faults.collect([&] { options.memory_bytes = arguments.megabytes("--memory-limit", 0) * 1'000'000; });
  options.faults = std::move(faults);
  const BatchFindResult result = named_by_flags(arguments, [&] {
    return with_progress([&](const Progress& progress) { return run_batch_find(options, progress); });
  });
  print_result(arguments, result);
  if (arguments.has("--report")) write_report(report_of(result, command_line), arguments.text("--report"));
  return kDone;
}

}  // namespace

Command batch_find_command() {
  Command command{
      "batch-find",
      "Find the smallest batch size that trains at nearly the best rate",
      "Doubles the batch size and measures the training at each size: samples per second with and without the loader, "
      "each with its 95 % confidence interval, peak memory and utilisation. The doubling ends at --to, when memory is "
      "exhausted, or when a size would take longer than --longest. On a CPU, the memory of the next size is predicted, "
      "and no size uses more than 85 % of the available memory. Then more sizes are measured to find the knee: the "
      "smallest size that reaches 95 % of the best rate. Also measures the cost of batch sizes and channel counts that "
      "are not multiples of 8. Prints the flags to use, with the learning rate of the settings scaled with the batch "
      "size for sgd and lars, and with its square root for adamw and lamb.",
      "  unstarve batch-find photos/ --model resnet18 --report batch.html\n"
      "  unstarve batch-find photos/ --config tuned.yaml --from 16 --to 512 --seconds 10 --json",
      trainer_options({{"--from", "N", "2", "smallest size"},
                       {"--to", "N", "number of samples, or --from if that is larger",
                        "largest size; samples repeat in batches that exceed the data"},
                       {"--seconds", "S", "4", "duration of the measurement of each size"},
                       {"--longest", "S", "10 times --seconds", "sizes that would take longer are not measured"},
                       report_option(),
                       seed_option()},
                      kUnusedByBatchFind),
      run_batch_find_command};
  for (Option& option : command.options) {
    if (std::string_view(option.name) == "--memory-limit")
      option = {"--memory-limit", "SIZE", "available memory",
                "memory limit of the process; sizes are measured up to 85 % of it: 500MB, 2GiB"};
    if (std::string_view(option.name) == "--batch")
      option.help = "batch size that the learning rate of the settings refers to";
  }
  return command;
}

}  // namespace unstarve::cli
