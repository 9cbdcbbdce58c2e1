#include "unstarve/jobs/watch.h"

#include <fmt/format.h>
#include <cstdio>
#include <filesystem>

#include "shared.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/common/chrome_trace.h"
#include "unstarve/jobs/tensorboard/watch_events.h"

namespace unstarve::cli {
namespace {

constexpr int kOursFailed = 125;  // as env, nohup and timeout do

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) throw io_error("create the folder", folder.string(), error.value());
}

WatchOptions options_of(const Arguments& arguments) {
  WatchOptions options;
  options.command = arguments.rest();
  const bool started = !options.command.empty();
  if (started == arguments.has("--pid"))
    throw Error(ErrorKind::kArgument, "watch: expected either -- COMMAND or --pid N");
  if (started && arguments.has("--json")) {
    throw Error(ErrorKind::kArgument,
                "watch: standard output is that of the command; use --out FILE instead of --json");
  }
  options.pid = static_cast<int>(arguments.integer("--pid", 0, 1, 1 << 30));
  options.seconds = arguments.number("--seconds", 0, 0.1, 1e9);
  options.kernels = !arguments.has("--no-cupti");
  options.metrics = arguments.text("--metrics");
  options.confirm = arguments.has("--confirm");
  if (options.confirm && !started)
    throw Error(ErrorKind::kArgument, "watch: --confirm stops processes for short times; expected -- COMMAND");
  check_outputs(arguments, {"--out", "--report", "--trace"});
  make_folder(arguments.text("--tensorboard"));
  return options;
}

int watch(const Arguments& arguments, const WatchOptions& options, const std::string& command_line) {
  const WatchResult result = run_watch(options);
  const bool started = !options.command.empty();
  if (started)
    std::fputs(("\nunstarve: " + to_text(result)).c_str(), stderr);  // it may be closed
  else
    print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  if (arguments.has("--out")) write_file_atomically(arguments.text("--out"), to_json(result) + "\n");
  if (arguments.has("--tensorboard"))
    write_watch_events(arguments.text("--tensorboard"), result.profile, result.findings);
  if (arguments.has("--trace"))
    write_file_atomically(arguments.text("--trace"), chrome_trace(result.profile, result.findings));
  if (arguments.has("--report")) {
    Report report = report_of(result, command_line);
    if (arguments.has("--trace")) add_trace_link(report, arguments.text("--report"), arguments.text("--trace"));
    write_report(report, arguments.text("--report"));
  }
  return started ? result.profile.exit_code : kDone;
}

int run_watch_command(const Arguments& arguments, const std::string& command_line) {
  const bool started = !arguments.rest().empty();
  WatchOptions options;
  try {
    options = options_of(arguments);
    return watch(arguments, options, command_line);
  } catch (const CommandFailed& error) {
    fmt::print(stderr, "unstarve: {}\n", error.what());
    return error.exit_code();
  } catch (const Error& error) {
    if (!started || error.kind() == ErrorKind::kArgument) throw;
    fmt::print(stderr, "unstarve: {}\n", error.what());
    return kOursFailed;
  }
}

}  // namespace

Command watch_command() {
  return {
      "watch",
      "Explain why a program that trains is slow, without changing it",
      "Starts a command, or attaches to a running process, of any framework. Reads what its processes and threads "
      "use while it runs, ranks the causes of lost time, and names the change and the predicted gain for each. "
      "Output and exit code of the command are passed on. Exit codes of unstarve: 125 it failed, 126 the command "
      "cannot be executed, 127 it was not found.",
      "  unstarve watch -- python train.py --epochs 1\n"
      "  unstarve watch --report report.html -- python train.py\n"
      "  unstarve watch --out profile.json -- torchrun --nproc-per-node 2 train.py\n"
      "  unstarve watch --pid 4711 --seconds 20",
      {{.name = "COMMAND", .value = "", .fallback = "", .help = "program to start, with its arguments", .rest = true},
       {"--pid", "N", "", "watch this running process and those that it started"},
       {"--seconds", "S", "until the program ends", "duration in seconds; the command runs on"},
       {"--out", "FILE", "", "write verdict, findings and profile to this file (JSON)", false, Completes::kPath},
       {"--report", "FILE", "", "write an HTML page with charts and flame graphs", false, Completes::kPath},
       {"--confirm", "", "",
        "confirm the bottleneck by an experiment: slow the loader's processes, then the main process, by 20 % for "
        "some seconds each; requires a run of about a minute"},
       {"--trace", "FILE", "", "write Chrome JSON trace events, which Perfetto shows", false, Completes::kPath},
       {"--tensorboard", "FOLDER", "", "write scalars and findings for TensorBoard", false, Completes::kPath},
       {"--no-cupti", "", "", "do not record the kernels of NVIDIA GPUs and NVTX ranges in the command"},
       {"--metrics", "ADDRESS", "", "serve figures for Prometheus at http://ADDRESS/metrics; for example :9400"},
       json_option()},
      run_watch_command};
}

}  // namespace unstarve::cli
