#include "shared.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/diagnose_trace.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string&) {
  const TraceDiagnosis diagnosis = diagnose_trace(arguments.text("TRACE"));
  if (arguments.has("--out")) write_file_atomically(arguments.text("--out"), to_json(diagnosis) + "\n");
  print_result(arguments.has("--json") ? to_json(diagnosis) + "\n" : to_text(diagnosis));
  return kDone;
}

}  // namespace

Command diagnose_command() {
  return {
      "diagnose",
      "Explain why a program that trains is slow, from a trace of another profiler",
      "Reads a trace of torch.profiler (JSON, also .gz), of TensorFlow or JAX (*.xplane.pb), of Nsight Systems (nsys "
      "export --type sqlite), or the output of unstarve watch --out. Ranks the causes of lost time, and names the "
      "evidence, the change and the predicted gain for each.",
      "  unstarve diagnose trace.pt.trace.json.gz\n"
      "  unstarve diagnose report.sqlite --out diagnosis.json",
      {{"TRACE", "", "", "trace file; its format is recognised by its content", true, Completes::kPath},
       {"--out", "FILE", "", "write verdict, findings and profile to this file (JSON)", false, Completes::kPath},
       json_option()},
      run};
}

}  // namespace unstarve::cli
