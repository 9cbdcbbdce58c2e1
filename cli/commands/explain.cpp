#include "unstarve/jobs/explain.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/settings/settings_schema.h"
#include "unstarve/pipeline/spec/spec_schema.h"

#include "../options/shared.h"

namespace unstarve::cli {
namespace {

int run_explain_command(const Arguments& arguments, const std::string&) {
  for (const bool of_settings : {false, true}) {
    const std::string option = of_settings ? "--settings-schema" : "--schema";
    if (!arguments.has(option)) continue;
    if (arguments.has("DATA") || arguments.has("--config"))
      throw Error(ErrorKind::kArgument, option +
                                            ": found DATA or --config; expected neither, the schema is the same for "
                                            "all " +
                                            (of_settings ? "settings files" : "pipelines"));
    print_result(of_settings ? settings_schema() : spec_schema());
    return kDone;
  }
  const bool programs = arguments.has("--passes") && arguments.text("--passes").empty();
  if (arguments.has("--passes") && !arguments.has("DATA") && !arguments.has("--config"))
    throw Error(ErrorKind::kArgument,
                "--passes: found " + arguments.text("--passes") + ", and no DATA; expected DATA before --passes");
  const Settings settings = settings_from(programs ? arguments.without("--passes") : arguments);
  const ExplainResult result = run_explain(settings, device_from(arguments, settings));
  print_result(arguments.has("--json")      ? to_json(result) + "\n"
               : arguments.has("--verbose") ? to_text(result)
               : programs                   ? to_programs(result)
                                            : to_summary(result));
  return kDone;
}

std::vector<Option> explain_options() {
  std::vector<Option> options = settings_options({{"--verbose", "", "", "print all settings, passes and reasons"},
                                                  {"--schema", "", "", "print only the JSON schema of a pipeline"},
                                                  {"--settings-schema", "", "",
                                                   "print only the JSON schema of a settings file, with its sections "
                                                   "pipeline, train and host"}});
  for (Option& option : options) {
    if (std::string_view(option.name) != "--passes") continue;
    option.value_optional = true;
    option.help =
        "without LIST: print the program before all passes and after each; with LIST: switch passes on or off by their "
        "names: "
        "scan_index=off,cache=off";
  }
  return options;
}

}  // namespace

Command explain_command() {
  return {"explain",
          "Show the plan of a run with its reasons: settings, passes, sizes",
          "Prints a summary of what bench and train would run with the same arguments. --verbose also prints all "
          "settings, the plan, how the first image is decoded, which values were chosen automatically, and for each "
          "pass whether it applies, whether it is exact, and why. DATA may be a spec: a settings file written by "
          "unstarve tune, or a pipeline written by to_yaml() of the Python package. explain runs nothing and writes no "
          "cache. --schema prints the JSON schema of a pipeline, --settings-schema that of a settings file, for "
          "editors.",
          "  unstarve explain photos/\n"
          "  unstarve explain tuned.yaml --threads 4 --verbose\n"
          "  unstarve explain photos/ --passes\n"
          "  unstarve explain pipeline.yaml --json\n"
          "  unstarve explain --schema > pipeline.schema.json\n"
          "  unstarve explain --settings-schema > settings.schema.json",
          explain_options(),
          run_explain_command};
}

}  // namespace unstarve::cli
