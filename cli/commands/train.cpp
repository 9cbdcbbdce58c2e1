#include "unstarve/jobs/train.h"

#include "../terminal.h"
#include "shared.h"
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

int run(const Arguments& arguments, const std::string&) {
  TrainOptions options;
  options.settings = settings_from(arguments);
  TrainSettings& train = options.settings.train;
  if (arguments.text("--device").starts_with("emulated:"))
    throw Error(ErrorKind::kArgument,
                "--device: found an emulated accelerator, which cannot train; expected cpu, cuda or cuda:N");
  train.learning_rate = arguments.number("--learning-rate", train.learning_rate, 1e-9, 1e3);
  train.seed =
      static_cast<std::uint64_t>(arguments.integer("--seed", static_cast<long long>(train.seed), 0, 1LL << 62));
  if (arguments.has("--seed")) options.settings.pipeline.order.seed = train.seed;
  if (arguments.has("--precision")) train.precision = precision_from_string(arguments.text("--precision"));
  if (arguments.has("--on-error")) options.settings.pipeline.errors.policy = policy_of(arguments.text("--on-error"));
  options.validation = spec_of(arguments, "--val", "--val-split");
  options.minutes = arguments.number("--minutes", 0, 0.001, 1e7);
  options.epochs = arguments.number("--epochs", options.minutes > 0 ? 0 : 10, 0.001, 1e7);
  options.evaluate_every = arguments.number("--evaluate-every", options.minutes > 0 ? 0 : 1, 0, 1e7);
  options.out = arguments.text("--out");
  options.resume = arguments.text("--resume");
  options.quarantine = arguments.text("--quarantine");
  auto& errors = options.settings.pipeline.errors;
  errors.rate = arguments.number("--error-rate", errors.rate, 1e-9, 1);
  errors.limit = static_cast<std::uint64_t>(
      arguments.integer("--error-limit", static_cast<long long>(errors.limit), 0, 1LL << 62));
  TrainResult result;
  {
    ProgressBar bar;
    result = run_train(options, bar.callback());
  }
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  return kDone;
}

}  // namespace

Command train_command() {
  return {
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
       {"--learning-rate", "R", "0.1 at batch 256", "peak learning rate"},
       {"--precision", "NAME", "bfloat16 if supported, else float32", "float32, bfloat16 or float16", false,
        Completes::kNothing, "float32 bfloat16 float16"},
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
       {"--out", "FILE", "", "path of the checkpoint, written at each evaluation", false, Completes::kPath},
       {"--resume", "FILE", "", "resume from a checkpoint, also in the middle of an epoch, or start from weights",
        false, Completes::kPath},
       json_option()},
      run};
}

}  // namespace unstarve::cli
