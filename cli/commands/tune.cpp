#include "unstarve/jobs/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/ladder/ladder_step.h"
#include "unstarve/jobs/settings/settings_file.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve::cli {
namespace {

const std::string& words() {
  static const std::string all = fmt::format("{}", fmt::join(words_to_try(), " "));
  return all;
}

// The words of --try.
std::vector<std::string> tried_from(const Arguments& arguments) {
  std::vector<std::string> tried;
  const std::vector<std::string_view> known = words_to_try();
  std::istringstream list(arguments.text("--try"));
  for (std::string word; std::getline(list, word, ',');) {
    if (std::ranges::find(known, word) == known.end())
      throw Error(ErrorKind::kArgument, fmt::format("--try: found \"{}\"; expected some of {}, separated by commas",
                                                    word, fmt::join(known, ",")));
    tried.push_back(word);
  }
  for (const char* const option : {"--val", "--val-split", "--epochs"})
    if (arguments.has(option) && tried.empty())
      throw Error(ErrorKind::kArgument, fmt::format("{}: found no --try; expected one of {}", option, words()));
  if (!tried.empty() && !arguments.has("--val"))
    throw Error(ErrorKind::kArgument,
                "--try: found no validation data; expected --val, to measure the time to an accuracy");
  return tried;
}

int run_tune_command(const Arguments& arguments, const std::string& command_line) {
  check_measurement_files(arguments, {"--out"});
  TuneOptions options;
  options.settings = settings_from(arguments);
  options.device = device_from(arguments, options.settings);
  if (arguments.has("--out")) check_utf8(options.settings.pipeline);  // fail before tuning, which may take hours
  options.tried = tried_from(arguments);
  options.validation = spec_of(arguments, "--val", "--val-split");
  options.epochs = arguments.number("--epochs", options.epochs, 0.5, 1e6);
  options.minutes = arguments.number("--minutes", 3, 0.01, 10000);
  const std::string data = arguments.text("DATA");
  const bool has_spec = detect_spec(data).kind != SpecKind::kNone;
  options.may_reduce_batch = !has_spec && !arguments.has("--batch");
  options.own_output = has_spec && has_output(data);
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<TuneResult> results{with_progress([&](const Progress& progress) { return run_tune(options, progress); })};
  describe_noise(results, command_line, options.minutes);
  const TuneResult& result = results[0];
  // If a file cannot be written, or the table not printed, the measurements are not lost.
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result, terminal_width()));
  if (arguments.has("--out")) write_file_atomically(arguments.text("--out"), winner_yaml(result, command_line));
  write_measurement_files(
      arguments, recording_of(result, command_line),
      report_of(results, "unstarve tune " + name_of_sources(options.settings.pipeline), command_line));
  return kDone;
}

}  // namespace

Command tune_command() {
  return {"tune",
          "Try optimisations one by one and keep those that help",
          "Starts from plain settings: one worker thread and no prefetch; for a network also batch 32, float32, NCHW "
          "and default host settings; everything else as in the defaults or the spec. Tries optimisations one by one. "
          "Each is compared with the best settings so far in an interleaved A/B run, and kept only if the whole 95 % "
          "confidence interval of the ratio is above 1. At the end, the tuned settings are compared with the defaults, "
          "and written only if they are faster; otherwise the defaults are written. For an emulated accelerator, the "
          "file is a pipeline spec without settings of a network. Optimisations that only whole runs can judge are "
          "tried only with --try. Each of these is compared in 12 training runs, by the time to the highest "
          "accuracy that both runs of a pair reach.",
          "  unstarve tune photos/ --model resnet18 --minutes 3 --out tuned.yaml --report report.html\n"
          "  unstarve tune photos/ --val val/ --try average,progressive --epochs 8 --out tuned.yaml\n"
          "  unstarve train photos/ --config tuned.yaml",
          {data_option(),
           split_option(),
           model_option(),
           device_option(),
           image_size_option(),
           {"--batch", "N", "256 up to 40 px, else 32; for an emulated accelerator, its own",
            "samples per batch of the defaults"},
           {"--minutes", "M", "3",
            "total duration in minutes, without the runs of --try; longer runs have narrower intervals"},
           {"--try", "LIST", "",
            "optimisations that only whole runs can judge, separated by commas: accumulate (2 batches per update), "
            "average (EMA of the weights), progressive (smaller images at first), smoothing (of labels), lookahead, "
            "resident (images on the device); requires --val",
            false, Completes::kNothing, words().c_str()},
           {"--val", "DATA", "", "validation data of the runs of --try", false, Completes::kPath},
           {"--val-split", "NAME", "", "split of the validation data: train, test or val"},
           {"--epochs", "N", "4", "length of each run of --try"},
           {"--out", "FILE", "", "write the best settings to this file (YAML)", false, Completes::kPath},
           trace_option(),
           tensorboard_option(),
           report_option(),
           json_option()},
          run_tune_command};
}

}  // namespace unstarve::cli
