#include "unstarve/jobs/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../stop_on_signal.h"
#include "../terminal.h"
#include "shared.h"
#include "train_flags.h"
#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader.h"

namespace unstarve::cli {
namespace {

OnError policy_of(const std::string& name) {
  if (name == "fail") return OnError::kFail;
  if (name == "skip") return OnError::kSkip;
  if (name == "replace") return OnError::kReplace;
  throw Error(ErrorKind::kArgument, "--on-error: found \"" + name + "\", expected fail, skip or replace");
}

// Under torchrun, mpirun or srun every process would train the same network on the same data.
void reject_several_processes() {
  for (const char* name : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || std::string_view(value) == "1") continue;
    throw Error(ErrorKind::kMissing,
                fmt::format("train: found {}={}; expected one process, because this version does not train "
                            "data-parallel. Use the Python loader in a training loop of torch, or unset {}",
                            name, value, name));
  }
}

int run(const Arguments& arguments, const std::string&) {
  reject_several_processes();
  TrainOptions options;
  options.settings = settings_from(arguments);
  TrainSettings& train = options.settings.train;
  if (arguments.text("--device").starts_with("emulated:"))
    throw Error(ErrorKind::kArgument,
                "--device: found an emulated accelerator, which cannot train; expected cpu, cuda or cuda:N");
  apply_train_flags(arguments, train);
  train.seed =
      static_cast<std::uint64_t>(arguments.integer("--seed", static_cast<long long>(train.seed), 0, 1LL << 62));
  if (arguments.has("--seed")) options.settings.pipeline.order.seed = train.seed;
  if (arguments.has("--on-error")) options.settings.pipeline.errors.policy = policy_of(arguments.text("--on-error"));
  options.validation = spec_of(arguments, "--val", "--val-split");
  options.minutes = arguments.number("--minutes", 0, 0.001, 1e7);
  options.epochs = arguments.number("--epochs", options.minutes > 0 ? 0 : 10, 0.001, 1e7);
  options.evaluate_every = arguments.number("--evaluate-every", options.minutes > 0 ? 0 : 1, 0, 1e7);
  options.checkpoints = {arguments.text("--checkpoint-dir"), arguments.text("--out"),
                         static_cast<int>(arguments.integer("--keep-checkpoints", 2, 1, 1'000'000))};
  options.checkpoint_seconds = arguments.seconds("--checkpoint-every", options.checkpoint_seconds);
  options.resume = arguments.text("--resume");
  options.weights = arguments.text("--weights");
  options.quarantine = arguments.text("--quarantine");
  auto& errors = options.settings.pipeline.errors;
  errors.rate = arguments.number("--error-rate", errors.rate, 1e-9, 1);
  errors.limit = static_cast<std::uint64_t>(
      arguments.integer("--error-limit", static_cast<long long>(errors.limit), 0, 1LL << 62));
  TrainResult result;
  {
    ProgressBar bar;
    StopOnSignal signals;
    try {
      result = run_train(options, bar.callback(), signals.token());
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kCancelled && signals.received() != 0)
        throw Interrupted(error, signals.received());
      throw;
    }
  }
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  return kDone;
}

}  // namespace

Command train_command() {
  Command command = {
      "train",
      "Train a network with tuned or default settings",
      "Trains and evaluates a network. The checkpoint is a safetensors file with torchvision's names. The learning "
      "rate warms up and decays to zero over the epochs or minutes.",
      "  unstarve train photos/ --val val/ --config tuned.yaml --minutes 10 --json\n"
      "  unstarve train cifar10/train --val cifar10/test --epochs 8 --out model.safetensors",
      {data_option(false),
       split_option(),
       {"--val", "DATA", "", "validation data, or a spec; each sample is evaluated once", false, Completes::kPath},
       {"--val-split", "NAME", "", "split of the validation data: train, test or val"},
       config_option(),
       model_option(),
       {"--device", "NAME", "device of the settings, else cpu", "cpu, cuda or cuda:N", false, Completes::kDevice},
       image_size_option(),
       {"--minutes", "M", "", "time limit of the training; with --epochs, the first limit reached ends it"},
       {"--epochs", "N", "10, or no limit with --minutes", "number of epochs"},
       {"--batch", "N", "256 up to 40 px, else 32", "samples per batch; scales the learning rate"},
       {"--threads", "N", "autotuned", "worker threads of the loader"},
       {"--prefetch", "N", "2, autotuned unless --threads is given", "number of prefetched batches"},
       read_ahead_option(),
       order_option(),
       memory_limit_option(),
       passes_option(),
       {"--seed", "N", "0", "seed of weights, order and augmentation"},
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
       {"--evaluate-every", "N", "1, or only at the end with --minutes", "epochs between evaluations"},
       {"--out", "FILE", "", "write the newest checkpoint to this file", false, Completes::kPath},
       {"--checkpoint-dir", "DIR", "", "write checkpoints to this folder", false, Completes::kPath},
       {"--checkpoint-every", "TIME", "5min",
        "time between checkpoints, in addition to those at evaluations, at the end and on Ctrl-C: 30s, 5min, 1h"},
       {"--keep-checkpoints", "N", "2", "number of checkpoints to keep in the folder"},
       {"--resume", "PATH", "",
        "resume from a checkpoint or a folder of them, also in the middle of an epoch, or start from weights", false,
        Completes::kPath},
       {"--weights", "FILE", "", "start from the weights of a safetensors file, possibly of another number of classes",
        false, Completes::kPath},
       json_option()},
      run};
  // After --batch.
  const std::vector<Option> flags = train_flags();
  const auto batch = std::find_if(command.options.begin(), command.options.end(),
                                  [](const Option& option) { return std::string_view(option.name) == "--batch"; });
  command.options.insert(batch + 1, flags.begin(), flags.end());
  return command;
}

}  // namespace unstarve::cli
