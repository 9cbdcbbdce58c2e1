#include "unstarve/jobs/demo.h"

#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/core/file.h"
#include "unstarve/observe/report.h"

namespace unstarve::cli {
namespace {

constexpr const char* kFolder = "unstarve-demo";

int run_demo_command(const Arguments& arguments, const std::string& command_line) {
  DemoOptions options;
  options.thumbnails = arguments.text("--thumbnails");
  options.photographs = arguments.text("DATA");
  options.device = arguments.text("--device", options.device);
  options.accelerator = arguments.text("--accelerator", options.accelerator);
  options.minutes = arguments.number("--minutes", options.minutes, 0.02, 10000);
  options.folder = arguments.text("--folder", kFolder);
  check_output_folder(arguments, "--folder", kFolder);
  make_folder(options.folder);
  check_outputs(arguments, {"--report"});
  DemoResult result = with_progress([&](const Progress& progress) { return run_demo(options, progress); });
  describe_noise(result.ladders, command_line, options.minutes);
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result, terminal_width()));
  const std::filesystem::path yaml = options.folder / "tuned.yaml";
  write_file_atomically(yaml, winner_yaml(result.ladders[0], command_line));
  const std::filesystem::path report = arguments.text("--report", (options.folder / "report.html").string());
  write_report(report_of(result, command_line), report);
  if (!arguments.has("--json")) print_result("report    " + report.string() + "\nsettings  " + yaml.string() + "\n");
  return kDone;
}

}  // namespace

Command demo_command() {
  return {"demo",
          "Compare with other loaders, tune twice and write a report, in about four minutes",
          "Compares the loader with torch's DataLoader, using Pillow and torchvision if they are installed, on the "
          "photographs of DATA. Then runs tune twice: for the training of a small network on this machine, and for an "
          "emulated accelerator that is fed with the photographs. Writes report.html and tuned.yaml. Without DATA, "
          "synthetic photographs are generated.",
          "  unstarve demo\n"
          "  unstarve demo photos/ --report report.html",
          {{"DATA", "", "synthetic", "photographs, one folder per class", false, Completes::kPath},
           {"--thumbnails", "DATA", "synthetic", "32-pixel dataset to train on", false, Completes::kPath},
           {"--device", "NAME", "cpu", "training device: cpu or cuda", false, Completes::kDevice},
           {"--accelerator", "NAME", "emulated:h100-resnet50", "emulated accelerator", false, Completes::kDevice},
           {"--minutes", "M", "2", "duration of the tuning in minutes; the comparison takes about as long"},
           {"--folder", "DIR", "unstarve-demo", "folder for data, settings and report", false, Completes::kPath},
           {"--report", "FILE", "report.html in the folder", "path of the report", false, Completes::kPath},
           json_option()},
          run_demo_command};
}

}  // namespace unstarve::cli
