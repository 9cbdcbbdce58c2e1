#include "unstarve/jobs/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "../options/shared.h"
#include "../options/train_flags.h"
#include "../stop_on_signal.h"
#include "../terminal.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/dawnbench.h"
#include "unstarve/jobs/settings/recipes.h"
#include "unstarve/jobs/settings/settings_file.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/observe/report.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/ranks/ranks.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/train/checkpoints.h"

namespace unstarve::cli {
namespace {

OnError policy_of(const std::string& name) {
  if (name == "fail") return OnError::kFail;
  if (name == "skip") return OnError::kSkip;
  if (name == "replace") return OnError::kReplace;
  throw Error(ErrorKind::kArgument, "--on-error: found \"" + name + "\"; expected fail, skip or replace");
}

// Without --checkpoint-dir, a run that continues writes to the resumed folder; with a file and --out, only to --out.
CheckpointTargets targets_from(const Arguments& arguments) {
  check_output_folder(arguments, "--checkpoint-dir");
  CheckpointTargets targets{arguments.text("--checkpoint-dir"), arguments.text("--out"),
                            static_cast<int>(arguments.integer("--keep-checkpoints", 2, 1, 1'000'000))};
  const std::filesystem::path resume = arguments.text("--resume");
  std::error_code none;
  if (targets.folder.empty() && (targets.file.empty() || std::filesystem::is_directory(resume, none)))
    targets.folder = folder_of_resumed(resume);
  const auto require = [&](const char* option, bool used) {
    if (arguments.has(option) && !used)
      throw Error(ErrorKind::kArgument,
                  std::string(option) + ": found no folder for checkpoints; expected --checkpoint-dir");
  };
  require("--checkpoint-every", targets.any());
  require("--keep-checkpoints", !targets.folder.empty());
  if (!arguments.has("--checkpoint-dir")) check_output_folder("--resume", targets.folder);
  return targets;
}

// Adds a fault for every option that has no effect without another one.
void check_options_in_use(const Arguments& arguments, const TrainOptions& options, ConfigurationFaults& faults) {
  const bool validates = arguments.has("--val");
  const bool saves = arguments.has("--checkpoint-dir") || arguments.has("--out") || arguments.has("--resume");
  const bool of_file = arguments.has("--config") || detect_spec(arguments.text("DATA")).kind != SpecKind::kNone;
  const bool known = !of_file || !faults.any();  // the policy of a file with faults is not
  const bool fails = known && options.settings.pipeline.errors.policy == OnError::kFail;
  const auto require = [&](const char* option, bool used, const char* other) {
    if (!arguments.has(option) || used) return;
    faults.add(
        {ErrorKind::kArgument, fmt::format("{}: no effect without {}; expected both or neither", option, other)});
  };
  require("--val-split", validates, "--val");
  require("--evaluate-every", validates || saves || options.evaluate_every == 0, "--val");
  require("--evaluation-size", validates, "--val");
  require("--test-augmentation", validates, "--val");
  require("--error-rate", !fails, "--on-error skip or replace");
  require("--error-limit", !fails, "--on-error skip or replace");
}

// The batch of every rank is that of the settings, so an update has more samples, to which scaling_rule() adapts the
// learning rate. One on the command line is used as it is.
void scale_rate(const Arguments& arguments, const Ranks& ranks, Settings& settings) {
  double& rate = settings.train.learning_rate;
  if (!arguments.has("--learning-rate"))
    rate = scaled_rate(rate, 1, ranks.world, scaling_rule(settings.train.optimiser.name));
  if (ranks.first())
    print_to_stderr(fmt::format("unstarve: {} ranks, {} samples per step, {} for each rank, learning rate {:.4g}\n",
                                ranks.world, ranks.world * settings.pipeline.batch.size, settings.pipeline.batch.size,
                                rate));
}

// Throws an error of the training loop. Errors that all ranks find are reported by rank 0, others with the number of
// the rank.
[[noreturn]] void throw_of_loop(const Ranks& ranks, const Error& error) {
  const bool of_all = error.kind() == ErrorKind::kCheck || error.kind() == ErrorKind::kCancelled ||
                      error.kind() == ErrorKind::kArgument;
  if (of_all) throw Error(error.kind(), ranks.first() ? error.what() : "");
  throw RankError(error.kind(), rank_prefix(ranks) + error.what());
}

// A rank that waits for one that has ended cannot continue. Before it ends itself, the launcher has the time to report
// the lost one.
void end_after_loss(const StopOnSignal& signals, bool json, const std::string& message) {
  constexpr std::chrono::seconds kForLauncher(2);
  constexpr double kAtOnce = 0.5;
  // The launcher ends the ranks one after another some time after it has signalled a stop.
  if (!message.empty() && signals.seconds_since() < kAtOnce) print_error(json, to_string(ErrorKind::kIo), message);
  std::fflush(nullptr);
  std::this_thread::sleep_for(kForLauncher);
  std::_Exit(kBadInput);
}

// The author of --dawnbench, whose options it checks.
DawnbenchAuthor author_from(const Arguments& arguments) {
  const auto fail = [](const char* text) { throw Error(ErrorKind::kArgument, text); };
  const bool written = arguments.has("--dawnbench");
  if (arguments.has("--author") && !written) fail("--author: found without --dawnbench; expected --dawnbench FILE too");
  if (written && !arguments.has("--val")) fail("--dawnbench: found no validation data; expected --val DATA too");
  if (written && arguments.has("--resume"))
    fail("--dawnbench: found --resume; expected a run from its beginning, whose times are all known");
  return dawnbench_author(arguments.text("--author"));
}

int run_train_command(const Arguments& arguments, const std::string& command_line) {
  TrainOptions options;
  DawnbenchAuthor author;
  ConfigurationFaults faults;
  faults.collect([&] { check_outputs(arguments, {"--report", "--trace", "--out", "--quarantine", "--dawnbench"}); });
  faults.collect([&] { check_output_folder(arguments, "--tensorboard"); });
  faults.collect([&] { author = author_from(arguments); });
  faults.collect([&] { options.checkpoints = targets_from(arguments); });
  options.settings = trainer_settings_from(arguments, faults);
  auto& errors = options.settings.pipeline.errors;
  faults.collect([&] {
    if (arguments.has("--on-error")) errors.policy = policy_of(arguments.text("--on-error"));
  });
  faults.collect([&] { options.validation = spec_of(arguments, "--val", "--val-split"); });
  const auto number = [&](double& value, const char* option, double fallback, double least, double most) {
    faults.collect([&] { value = arguments.number(option, fallback, least, most); });
  };
  number(options.minutes, "--minutes", 0, 0.001, 1e7);
  const bool timed = options.minutes > 0;
  const Recipe* const recipe = recipe_named(options.settings.recipe);
  const double epochs = recipe != nullptr ? recipe->epochs : 10;
  const double evaluate_every = recipe != nullptr ? recipe->evaluate_every : 1;
  number(options.epochs, "--epochs", timed ? 0 : epochs, 0.001, 1e7);
  number(options.evaluate_every, "--evaluate-every", timed ? 0 : evaluate_every, 0, 1e7);
  faults.collect(
      [&] { options.checkpoint_seconds = arguments.seconds("--checkpoint-every", options.checkpoint_seconds); });
  number(options.target, "--target", 0, 0, 1);
  number(options.price_per_hour, "--price-per-hour", 0, 0, 1e9);
  number(errors.rate, "--error-rate", errors.rate, 1e-9, 1);
  faults.collect([&] {
    errors.limit = static_cast<std::uint64_t>(
        arguments.integer("--error-limit", static_cast<long long>(errors.limit), 0, 1LL << 62));
  });
  check_options_in_use(arguments, options, faults);
  options.faults = std::move(faults);
  options.trace = arguments.text("--trace");
  options.tensorboard = arguments.text("--tensorboard");
  options.resume = arguments.text("--resume");
  options.weights = weights_file(arguments.text("--weights"));
  options.quarantine = arguments.text("--quarantine");
  bool in_loop = false;
  options.begin = [&] { in_loop = true; };
  TrainResult result;
  {
    ProgressBar bar;
    StopOnSignal signals;
    options.lost_rank = [&](const std::string& message) { end_after_loss(signals, arguments.has("--json"), message); };
    try {
      options.ranks = join_ranks();
      if (!options.ranks.first()) set_notice_sink({});  // rank 0 has the same
      if (options.ranks.first())
        options.announce = [](const std::string& text) { print_to_stderr(fmt::format("unstarve: {}\n", text)); };
      if (options.ranks.several() && !options.faults.any()) scale_rate(arguments, options.ranks, options.settings);
      result = run_train(options, bar.callback(), signals.token());
    } catch (const Error& failure) {
      if (failure.kind() == ErrorKind::kCancelled && signals.received() != 0)
        throw Interrupted({failure.kind(), options.ranks.first() ? failure.what() : ""}, signals.received());
      if (in_loop) throw_of_loop(options.ranks, failure);
      throw Error(failure.kind(), with_flag_names(arguments, failure.what()));
    }
  }
  if (!options.ranks.first()) return kDone;
  print_result(arguments, result);
  if (arguments.has("--report")) write_report(report_of(result, command_line), arguments.text("--report"));
  if (arguments.has("--dawnbench")) write_dawnbench(result, arguments.text("--dawnbench"), author);
  return kDone;
}

Option recipe_option() {
  static const std::string help = [] {
    std::string text = "named settings that other options and keys of the settings file override:";
    for (const Recipe& recipe : recipes())
      text += fmt::format("{} {} ({})", &recipe == recipes().data() ? "" : ",", recipe.name, recipe.help);
    return text;
  }();
  static const std::string choices = recipe_names(" ");
  return {"--recipe", "NAME", "", help.c_str(), false, Completes::kNothing, choices.c_str()};
}

}  // namespace

Command train_command() {
  Command command = {
      "train",
      "Train a network with tuned or default settings",
      "Trains and evaluates a network. The learning rate warms up and then decays to zero over the epochs or minutes. "
      "Checkpoints are safetensors files with torchvision's names.",
      "  unstarve train photos/ --val val/ --config tuned.yaml --minutes 10 --json\n"
      "  unstarve train photos/ --val val/ --epochs 8 --out model.safetensors\n"
      "  unstarve train cifar10 --split train --val cifar10 --val-split test --recipe cifar-speed\n"
      "  unstarve train photos/ --val val/ --epochs 16 --progressive-size 128 --report report.html\n"
      "  unstarve train photos/ --val val/ --epochs 16 --prune 0.5 --out half.safetensors\n"
      "  unstarve train photos/ --weights w.safetensors --qat --learning-rate 0.005 --out int8.safetensors\n"
      "  mpirun -n 4 unstarve train photos/ --config tuned.yaml --json\n"
      "  torchrun --nproc-per-node 4 -m unstarve train photos/ --config tuned.yaml --json",
      {data_option(false),
       split_option(),
       {"--val", "DATA", "", "validation data, or a spec; each sample is evaluated once", false, Completes::kPath},
       {"--val-split", "NAME", "", "split of the validation data: train, test or val"},
       config_option(),
       recipe_option(),
       model_option(),
       training_device_option(),
       image_size_option(),
       augmentation_option(),
       {"--qat", "", "",
        "quantisation-aware training: weights and activations are rounded for int8 during training, evaluations report "
        "the accuracy of the int8 model, and unstarve export writes the checkpoint as an int8 model"},
       {"--minutes", "M", "", "time limit of the training; with --epochs, the first limit reached ends it"},
       {"--epochs", "N", "epochs of the recipe, else 10; no limit with --minutes", "number of epochs"},
       {"--batch", "N", "256 up to 40 px, else 32", "samples per batch; scales the learning rate"},
       {"--threads", "N", "autotuned", "worker threads of the loader"},
       {"--prefetch", "N", "2 (autotuned unless --threads is set)", "number of prefetched batches"},
       read_ahead_option(),
       order_option(),
       memory_limit_option(),
       passes_option(),
       seed_option(),
       {"--on-error", "POLICY", "fail", "for a bad sample: fail, skip it, or replace it with another sample", false,
        Completes::kNothing, "fail skip replace"},
       {"--error-rate", "SHARE", "1",
        "with skip or replace: fail if more than this share of the samples is bad, checked from the 1000th sample on"},
       {"--error-limit", "N", "1000", "with skip or replace: fail after more than N bad samples"},
       {"--quarantine", "FILE", "", "write bad samples to this file, for unstarve pack --exclude", false,
        Completes::kPath},
       cache_option(),
       cache_folder_option(),
       cache_limit_option(),
       {"--evaluate-every", "N", "1, or only at the end with --minutes or a recipe", "epochs between evaluations"},
       {"--target", "SHARE", "", "accuracy on the validation data at which training ends, for example 0.94"},
       {"--price-per-hour", "PRICE", "",
        "price of all machines per hour, to report the cost of the run and of reaching the target"},
       {"--dawnbench", "FILE", "",
        "write time and cost to accuracy in DAWNBench's format to FILE.tsv and FILE.json; requires --val", false,
        Completes::kPath},
       {"--author", "TEXT", "", "author of --dawnbench: \"NAME <MAIL>\""},
       {"--trace", "FILE", "", "write a trace of 20 steps for chrome://tracing and Perfetto", false, Completes::kPath},
       {"--tensorboard", "DIR", "", "write event files of TensorBoard to this folder", false, Completes::kPath},
       report_option(),
       {"--out", "FILE", "", "write the newest checkpoint to this file", false, Completes::kPath},
       {"--checkpoint-dir", "DIR", "folder of --resume", "write checkpoints to this folder", false, Completes::kPath},
       {"--checkpoint-every", "TIME", "5min",
        "time between checkpoints, in addition to those at evaluations, at the end and on Ctrl-C: 30s, 5min, 1h"},
       {"--keep-checkpoints", "N", "2", "number of checkpoints to keep in the folder"},
       {"--resume", "PATH", "",
        "resume from a checkpoint, or from the newest one in a folder, also in the middle of an epoch; or start from "
        "weights. On a CPU, losses are bit-equal to an uninterrupted run, except with --order relaxed. If PATH is a "
        "folder, or the newest checkpoint of its folder and --out is not given, checkpoints are written to that folder "
        "unless --checkpoint-dir names another one",
        false, Completes::kPath},
       weights_option(),
       json_option()},
      run_train_command};
  // After --batch.
  const std::vector<Option> flags = train_flags();
  const auto batch = std::ranges::find_if(
      command.options, [](const Option& option) { return std::string_view(option.name) == "--batch"; });
  command.options.insert(batch + 1, flags.begin(), flags.end());
  const std::vector<Option> host = host_flags();
  command.options.insert(command.options.end() - 1, host.begin(), host.end());  // before --json
  return command;
}

}  // namespace unstarve::cli
