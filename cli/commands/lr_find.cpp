#include "unstarve/jobs/lr_find.h"

#include <array>

#include "../options/shared.h"
#include "../options/train_flags.h"
#include "../terminal.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/observe/report.h"
#include "unstarve/train/checkpoints.h"

namespace unstarve::cli {
namespace {

// Settings that a sweep of one process does not use.
constexpr std::array<std::string_view, 9> kUnusedByLrFind{
    "resident", "learning_rate", "schedule.",       "sync_batch_norm",  "progressive.",
    "prune.",   "qat.",          "evaluation_size", "test_augmentation"};

int run_lr_find_command(const Arguments& arguments, const std::string& command_line) {
  require_one_process("lr-find");
  LrFindOptions options;
  ConfigurationFaults faults;
  faults.collect([&] { check_outputs(arguments, {"--report"}); });
  options.settings = trainer_settings_from(arguments, faults);
  options.weights = weights_file(arguments.text("--weights"));
  RateSweepOptions& sweep = options.sweep;
  faults.collect([&] { sweep.from = arguments.number("--from", sweep.from, 1e-30, 1e30); });
  faults.collect([&] { sweep.to = arguments.number("--to", sweep.to, 1e-30, 1e30); });
  faults.collect([&] { sweep.updates = static_cast<int>(arguments.integer("--steps", sweep.updates, 2, 1'000'000)); });
  options.faults = std::move(faults);
  const LrFindResult result = named_by_flags(arguments, [&] {
    return with_progress([&](const Progress& progress) { return run_lr_find(options, progress); });
  });
  print_result(arguments, result);
  if (arguments.has("--report")) write_report(report_of(result, command_line), arguments.text("--report"));
  return kDone;
}

}  // namespace

Command lr_find_command() {
  return {"lr-find",
          "Find a learning rate with a learning-rate sweep",
          "Trains on the real data, with the optimiser, batch, accumulation and precision of the settings, and "
          "multiplies the learning rate by the same factor after every update of the weights. Suggests the rate at "
          "which the smoothed loss falls most steeply. For comparison, prints a tenth of the rate at which the "
          "smoothed loss is lowest. If the loss does not fall clearly, it suggests nothing and prints the reason. The "
          "sweep ends early when the smoothed loss exceeds 4 times its minimum. The suggestion is for this batch size "
          "and number of accumulated batches; the trained weights are discarded.",
          "  unstarve lr-find photos/ --model resnet18 --report lr.html\n"
          "  unstarve lr-find photos/ --config tuned.yaml --optimiser adamw --to 1 --json\n"
          "  unstarve lr-find photos/ --weights resnet18.safetensors --accumulate 4",
          trainer_options({{"--from", "RATE", "1e-6", "first learning rate"},
                           {"--to", "RATE", "10", "last learning rate"},
                           {"--steps", "N", "100", "number of updates; more updates reduce the noise"},
                           weights_option(),
                           report_option(),
                           seed_option()},
                          kUnusedByLrFind),
          run_lr_find_command};
}

}  // namespace unstarve::cli
