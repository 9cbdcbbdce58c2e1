#include <fmt/format.h>

#include "../options/shared.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/common/chrome_trace.h"
#include "unstarve/jobs/diagnose_ranks.h"
#include "unstarve/jobs/diagnose_trace.h"
#include "unstarve/jobs/tensorboard/watch_events.h"

namespace unstarve::cli {
namespace {

template <class Diagnosis>
void write(const Diagnosis& diagnosis, const Arguments& arguments) {
  print_result(arguments, diagnosis);
  if (arguments.has("--out")) write_file_atomically(arguments.text("--out"), to_json(diagnosis) + "\n");
}

void diagnose_one(const Arguments& arguments, const std::string& command_line) {
  const TraceDiagnosis diagnosis = diagnose_trace(arguments.rest()[0]);
  write(diagnosis, arguments);
  if (arguments.has("--trace"))
    write_file_atomically(arguments.text("--trace"), chrome_trace(diagnosis.profile, diagnosis.findings));
  if (arguments.has("--tensorboard"))
    write_watch_events(arguments.text("--tensorboard"), diagnosis.profile, diagnosis.findings);
  if (arguments.has("--report")) write_report_file(arguments, report_of(diagnosis, command_line));
}

void diagnose_several(const Arguments& arguments, const std::string& command_line) {
  for (const char* const option : {"--trace", "--tensorboard"})
    if (arguments.has(option))
      throw Error(ErrorKind::kArgument, fmt::format("diagnose {}: found several files; expected one", option));
  const RanksDiagnosis diagnosis = diagnose_ranks(arguments.rest());
  write(diagnosis, arguments);
  if (arguments.has("--report")) write_report(report_of(diagnosis, command_line), arguments.text("--report"));
}

int run_diagnose_command(const Arguments& arguments, const std::string& command_line) {
  check_measurement_files(arguments, {"--out"});
  if (arguments.rest().size() == 1)
    diagnose_one(arguments, command_line);
  else
    diagnose_several(arguments, command_line);
  return kDone;
}

}  // namespace

Command diagnose_command() {
  return {
      "diagnose",
      "Explain why a training program is slow, from traces or outputs of watch",
      "Reads a trace of torch.profiler (JSON, also .gz), of TensorFlow or JAX (*.xplane.pb), of Nsight Systems (nsys "
      "export --type sqlite), or the output of unstarve watch --out. Prints the causes of lost time, the largest loss "
      "first, each with its evidence, the change to make and the predicted gain. From several outputs of unstarve "
      "watch --out, one per host or rank of the same job, it finds the rank that delays the others, and the reason.",
      "  unstarve diagnose trace.pt.trace.json.gz\n"
      "  unstarve diagnose report.sqlite --out diagnosis.json --report report.html\n"
      "  unstarve diagnose host0.json host1.json host2.json",
      {{.name = "TRACE",
        .value = "",
        .fallback = "",
        .help = "trace file; the format is recognised from the content",
        .required = true,
        .completes = Completes::kPath,
        .several = true},
       {"--out", "FILE", "", "write verdict, findings and profile to this file (JSON)", false, Completes::kPath},
       trace_option(),
       {"--tensorboard", "FOLDER", "", "write scalars and findings for TensorBoard", false, Completes::kPath},
       {"--report", "FILE", "", "write an HTML page with charts and a timeline of a few steps", false,
        Completes::kPath},
       json_option()},
      run_diagnose_command};
}

}  // namespace unstarve::cli
