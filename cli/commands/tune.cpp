#include "unstarve/jobs/tune.h"

#include <filesystem>

#include "../terminal.h"
#include "shared.h"
#include "unstarve/core/file.h"
#include "unstarve/observe/report.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string& command_line) {
  check_outputs(arguments, {"--out", "--report"});
  TuneOptions options;
  options.settings = settings_from(arguments);
  options.device = device_from(arguments, options.settings);
  if (arguments.has("--out")) check_utf8(options.settings.pipeline);  // fail before tuning, which may take hours
  options.minutes = arguments.number("--minutes", 3, 0.01, 10000);
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<TuneResult> results;
  {
    ProgressBar bar;
    results.push_back(run_tune(options, bar.callback()));
  }
  describe_noise(results, command_line, options.minutes);
  const TuneResult& result = results[0];
  // Print the table first: if a file cannot be written, the measurements are not lost.
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result, terminal_width()));
  if (arguments.has("--out")) write_file_atomically(arguments.text("--out"), winner_yaml(result, command_line));
  if (arguments.has("--report"))
    write_report(report_of(results, "unstarve tune " + name_of_sources(options.settings.pipeline), command_line),
                 arguments.text("--report"));
  return kDone;
}

}  // namespace

Command tune_command() {
  return {
      "tune",
      "Try optimisations one by one and keep those that help",
      "Starts from plain settings (one loader thread, no prefetch; for a network also batch 32, float32, NCHW and "
      "default host settings; all else is kept from the defaults or the spec) and tries one optimisation after "
      "another. Each is measured against the best settings so far in an interleaved A/B run, and kept only if the 95 "
      "% confidence interval of the ratio is above 1. At the end, the defaults with the kept optimisations are "
      "compared with the defaults, and written only if they are faster; otherwise the defaults are written. For an "
      "emulated accelerator the file is a pipeline spec without settings of a network.",
      "  unstarve tune photos/ --model resnet18 --minutes 3 --out tuned.yaml --report report.html\n"
      "  unstarve train photos/ --config tuned.yaml",
      {data_option(),
       split_option(),
       model_option(),
       device_option(),
       image_size_option(),
       {"--minutes", "M", "3", "total duration; more time gives narrower intervals"},
       {"--out", "FILE", "", "write the best settings to this file (YAML)", false, Completes::kPath},
       report_option(),
       json_option()},
      run};
}

}  // namespace unstarve::cli
