#include "unstarve/jobs/watch.h"

#include <fmt/format.h>
#include <cstdio>
#include <filesystem>

#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/common/chrome_trace.h"
#include "unstarve/jobs/tensorboard/watch_events.h"

namespace unstarve::cli {
namespace {

constexpr int kOursFailed = 125;  // as env, nohup and timeout do

WatchOptions options_of(const Arguments& arguments) {
  WatchOptions options;
  options.command = arguments.rest();
  const bool started = !options.command.empty();
  if (started == arguments.has("--pid"))
    throw Error(ErrorKind::kArgument, "watch: expected either -- COMMAND or --pid N");
  if (started && arguments.has("--json")) {
    throw Error(ErrorKind::kArgument,
                "watch --json: found -- COMMAND, whose output is printed; expected --pid. Use --out FILE to write the "
                "result as JSON");
  }
  options.pid = static_cast<int>(arguments.integer("--pid", 0, 1, 1 << 30));
  options.seconds = arguments.number("--seconds", 0, 0.1, 1e9);
  options.kernels = !arguments.has("--no-cupti");
  options.metrics = arguments.text("--metrics");
  options.confirm = arguments.has("--confirm");
  if (options.confirm && !started)
    throw Error(ErrorKind::kArgument,
                "watch --confirm: found --pid; expected -- COMMAND, because --confirm pauses its processes");
  check_outputs(arguments, {"--out", "--report", "--trace"});
  check_output_folder(arguments, "--tensorboard");
  make_folder(arguments.text("--tensorboard"));
  return options;
}

int watch(const Arguments& arguments, const WatchOptions& options, const std::string& command_line) {
  const WatchResult result = run_watch(options);
  const bool started = !options.command.empty();
  if (started)
    print_to_stderr("\nunstarve: " + to_text(result));
  else
    print_result(arguments, result);
  if (arguments.has("--out")) write_file_atomically(arguments.text("--out"), to_json(result) + "\n");
  if (arguments.has("--tensorboard"))
    write_watch_events(arguments.text("--tensorboard"), result.profile, result.findings);
  if (arguments.has("--trace"))
    write_file_atomically(arguments.text("--trace"), chrome_trace(result.profile, result.findings));
  if (arguments.has("--report")) write_report_file(arguments, report_of(result, command_line));
  return started ? result.profile.exit_code : kDone;
}

int run_watch_command(const Arguments& arguments, const std::string& command_line) {
  const bool started = !arguments.rest().empty();
  WatchOptions options;
  try {
    options = options_of(arguments);
    return watch(arguments, options, command_line);
  } catch (const CommandFailed& error) {
    print_to_stderr(fmt::format("unstarve: {}\n", error.what()));
    return error.exit_code();
  } catch (const Error& error) {
    if (!started || error.kind() == ErrorKind::kArgument) throw;
    print_to_stderr(fmt::format("unstarve: {}\n", error.what()));
    return kOursFailed;
  }
}

}  // namespace

Command watch_command() {
  return {
      "watch",
      "Explain why a training program is slow, without changing it",
      "Starts a command, or attaches to a running process, in any framework. Measures what its processes and threads "
      "use and wait for, and which Python lines they execute (by py-spy; C and C++ functions are not recorded). Prints "
      "the causes of lost time, the largest loss first, each with the change to make and the predicted gain. The "
      "output and the exit code of the command do not change. Exit codes of unstarve itself: 125 "
      "watch failed, 126 the command cannot be executed, 127 the command was not found.",
      "  unstarve watch -- python train.py --epochs 1\n"
      "  unstarve watch --report report.html -- python train.py\n"
      "  unstarve watch --out profile.json -- torchrun --nproc-per-node 2 train.py\n"
      "  unstarve watch --pid 4711 --seconds 20",
      {{.name = "COMMAND", .value = "", .fallback = "", .help = "program to start, with its arguments", .rest = true},
       {"--pid", "N", "", "watch this running process and its descendants"},
       {"--seconds", "S", "until the program ends", "stop watching after S seconds; the command continues"},
       {"--out", "FILE", "", "write verdict, findings and profile to this file (JSON)", false, Completes::kPath},
       {"--report", "FILE", "", "write an HTML page with charts and flame graphs", false, Completes::kPath},
       {"--confirm", "", "",
        "confirm the bottleneck by an experiment: slow down first the loader's processes and then the main process by "
        "20 % for some seconds each; requires a run of about a minute"},
       {"--trace", "FILE", "", "write Chrome JSON trace events for Perfetto", false, Completes::kPath},
       {"--tensorboard", "FOLDER", "", "write scalars and findings for TensorBoard", false, Completes::kPath},
       {"--no-cupti", "", "", "do not record kernels of NVIDIA GPUs and NVTX ranges"},
       {"--metrics", "ADDRESS", "", "serve metrics for Prometheus at http://ADDRESS/metrics, for example :9400"},
       json_option()},
      run_watch_command};
}

}  // namespace unstarve::cli
