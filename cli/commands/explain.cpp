#include "unstarve/jobs/explain.h"
#include "unstarve/core/error.h"
#include "unstarve/pipeline/spec/spec_schema.h"

#include "shared.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string&) {
  if (arguments.has("--schema")) {
    if (arguments.has("DATA") || arguments.has("--config"))
      throw Error(ErrorKind::kArgument, "--schema: it is the same for all pipelines; give neither DATA nor --config");
    print_result(spec_schema());
    return kDone;
  }
  const Settings settings = settings_from(arguments);
  const ExplainResult result = run_explain(settings, device_from(arguments, settings));
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  return kDone;
}

}  // namespace

Command explain_command() {
  return {"explain",
          "What would run, and why: settings, plan, every pass, sizes",
          "Prints the settings that bench and train would use with the same arguments, the plan that follows from them "
          "and the data, each pass of it with whether it applies, whether the pixels stay exact, and why, how the "
          "first image is decoded, and what the machine decided. DATA may be a spec: a settings file as unstarve tune "
          "writes it, or a pipeline as to_yaml() of the Python package does. Nothing is started, no cache is made. "
          "--schema prints what a pipeline may hold, as a JSON schema for editors.",
          "  unstarve explain photos/\n"
          "  unstarve explain tuned.yaml --threads 4\n"
          "  unstarve explain pipeline.yaml --json\n"
          "  unstarve explain --schema > pipeline.schema.json",
          settings_options({{"--schema", "", "", "print the JSON schema of a pipeline, and nothing else"}}),
          run};
}

}  // namespace unstarve::cli
