#include "shared.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/diagnose_ranks.h"
#include "unstarve/jobs/diagnose_trace.h"

namespace unstarve::cli {
namespace {

template <class Diagnosis>
int show(const Diagnosis& diagnosis, const Arguments& arguments, const std::string& command_line) {
  if (arguments.has("--out")) write_file_atomically(arguments.text("--out"), to_json(diagnosis) + "\n");
  print_result(arguments.has("--json") ? to_json(diagnosis) + "\n" : to_text(diagnosis));
  if (arguments.has("--report")) write_report(report_of(diagnosis, command_line), arguments.text("--report"));
  return kDone;
}

int run(const Arguments& arguments, const std::string& command_line) {
  const std::vector<std::string>& paths = arguments.rest();
  return paths.size() == 1 ? show(diagnose_trace(paths[0]), arguments, command_line)
                           : show(diagnose_ranks(paths), arguments, command_line);
}

}  // namespace

Command diagnose_command() {
  return {
      "diagnose",
      "Explain why a program that trains is slow, from a trace of another profiler",
      "Reads a trace of torch.profiler (JSON, also .gz), of TensorFlow or JAX (*.xplane.pb), of Nsight Systems (nsys "
      "export --type sqlite), or the output of unstarve watch --out. Ranks the causes of lost time, and names the "
      "evidence, the change and the predicted gain for each. Several outputs of unstarve watch --out, one per host or "
      "rank of the same job, are compared: which rank delays the others, and why.",
      "  unstarve diagnose trace.pt.trace.json.gz\n"
      "  unstarve diagnose report.sqlite --out diagnosis.json --report report.html\n"
      "  unstarve diagnose host0.json host1.json host2.json",
      {{.name = "TRACE",
        .value = "",
        .fallback = "",
        .help = "trace file; its format is recognised by its content",
        .required = true,
        .completes = Completes::kPath,
        .several = true},
       {"--out", "FILE", "", "write verdict, findings and profile to this file (JSON)", false, Completes::kPath},
       {"--report", "FILE", "", "write an HTML page with charts and a timeline of a few steps", false,
        Completes::kPath},
       json_option()},
      run};
}

}  // namespace unstarve::cli
