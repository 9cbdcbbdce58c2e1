#include "unstarve/jobs/demo.h"

#include "../terminal.h"
#include "shared.h"
#include "unstarve/core/file.h"
#include "unstarve/observe/report.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string& command_line) {
  DemoOptions options;
  options.thumbnails = arguments.text("--thumbnails");
  options.photographs = arguments.text("--photographs");
  options.device = arguments.text("--device", options.device);
  options.accelerator = arguments.text("--accelerator", options.accelerator);
  options.minutes = arguments.number("--minutes", options.minutes, 0.02, 10000);
  options.folder = arguments.text("--folder", "unstarve-demo");
  std::vector<TuneResult> results;
  {
    ProgressBar bar;
    results = run_demo(options, bar.callback());
  }
  describe_noise(results, command_line, options.minutes);
  std::string text;
  for (const TuneResult& result : results)
    text += arguments.has("--json") ? (text.empty() ? "[" : ",") + to_json(result)
                                    : to_text(result, terminal_width()) + "\n";
  if (arguments.has("--json")) text = "{\"ladders\":" + text + "]}\n";
  print_result(text);
  const std::filesystem::path report = arguments.text("--report", (options.folder / "report.html").string());
  write_report(report_of(results, "unstarve demo", command_line), report);
  const std::filesystem::path yaml = options.folder / "tuned.yaml";
  write_file_atomically(yaml, winner_yaml(results[0], command_line));
  if (!arguments.has("--json")) print_result("report    " + report.string() + "\nsettings  " + yaml.string() + "\n");
  return kDone;
}

}  // namespace

Command demo_command() {
  return {"demo",
          "Tune twice in three minutes and write a report, on synthetic data unless data is given",
          "Runs `tune` twice: for training a small network on this machine, and for feeding an emulated accelerator "
          "from JPEG photographs. Writes report.html and tuned.yaml.",
          "  unstarve demo\n"
          "  unstarve demo --photographs my-photos/ --report report.html",
          {{"--thumbnails", "DATA", "synthetic", "32-pixel dataset to train on", false, Completes::kPath},
           {"--photographs", "DATA", "synthetic", "photographs for the emulated accelerator", false, Completes::kPath},
           {"--device", "NAME", "cpu", "device that trains: cpu or cuda", false, Completes::kDevice},
           {"--accelerator", "NAME", "emulated:h100-resnet50", "emulated accelerator", false, Completes::kDevice},
           {"--minutes", "M", "3", "total duration"},
           {"--folder", "DIR", "unstarve-demo", "folder for data, settings and report", false, Completes::kPath},
           {"--report", "FILE", "report.html in the folder", "path of the report", false, Completes::kPath},
           json_option()},
          run};
}

}  // namespace unstarve::cli
