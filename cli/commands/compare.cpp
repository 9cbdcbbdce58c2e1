#include "unstarve/core/file.h"

#include <nlohmann/json.hpp>
#include "unstarve/jobs/compare_runs.h"

#include "../options/shared.h"

namespace unstarve::cli {
namespace {

int run_compare_command(const Arguments& arguments, const std::string& command_line) {
  check_measurement_files(arguments, {"--junit"});
  const RunComparison comparison = compare_runs(arguments.text("BEFORE"), arguments.text("AFTER"));
  print_result(arguments, comparison);
  if (arguments.has("--junit")) write_file_atomically(arguments.text("--junit"), to_junit(comparison));
  write_measurement_files(arguments, recording_of(comparison, command_line), report_of(comparison, command_line));
  return comparison.slower ? kCheckFailed : kDone;
}

}  // namespace

Command compare_command() {
  return {
      "compare",
      "Compare two runs, and name the part that became slower",
      "Reads two results of watch --out, or two of bench --json. Exit code 1 if the second run is significantly "
      "slower: the whole 95 % interval of the ratio of speeds is below 1. Runs of watch are compared by the durations "
      "of their steps, which un.step() marks, with a block bootstrap. Runs of bench are compared by their rounds.",
      "  unstarve compare before.json after.json\n"
      "  unstarve compare baseline.json now.json --junit compare.xml --json",
      {{"BEFORE", "", "", "result of the earlier run", true, Completes::kPath},
       {"AFTER", "", "", "result of the later run", true, Completes::kPath},
       {"--junit", "FILE", "", "write the comparison as JUnit XML for continuous integration", false, Completes::kPath},
       trace_option(),
       tensorboard_option(),
       report_option(),
       json_option()},
      run_compare_command};
}

}  // namespace unstarve::cli
