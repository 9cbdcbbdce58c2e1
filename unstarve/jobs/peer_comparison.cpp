#include "unstarve/jobs/peer_comparison.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/process/child_process.h"

namespace unstarve {
namespace {

ComparisonResult left_out(const std::string& reason) {
  ComparisonResult result;
  result.comparison.left_out = {"comparison with other loaders left out: " + reason};
  result.text = result.comparison.left_out[0] + "\n";
  return result;
}

std::optional<RatioInterval> interval_of(const Json& json, const char* key) {
  if (json.at(key).is_null()) return std::nullopt;
  const Json& r = json.at(key);
  return RatioInterval{r.at("ratio").get<double>(), r.at("low").get<double>(), r.at("high").get<double>(),
                       r.at("pairs").get<int>()};
}

}  // namespace

ComparisonResult comparison_from_json(const Json& json) {
  try {
    ComparisonResult result;
    Comparison& comparison = result.comparison;
    comparison.headline = json.at("headline").get<std::string>();
    comparison.note = json.at("note").get<std::string>();
    comparison.command = json.at("command").get<std::string>();
    comparison.setup = json.at("setup").get<std::string>();
    comparison.left_out = json.at("left_out").get<std::vector<std::string>>();
    for (const Json& row : json.at("rows"))
      comparison.loaders.push_back({row.at("name").get<std::string>(), row.at("settings").get<std::string>(),
                                    row.at("rate").get<double>(), interval_of(row, "times"),
                                    interval_of(row, "times_later")});
    result.text = json.at("text").get<std::string>();
    result.json = json_text(json);
    return result;
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kInput, fmt::format("read the result of unstarve.comparison: {}; expected a result of this "
                                               "version. Install package and program from the same wheel",
                                               error.what()));
  }
}

ComparisonResult run_comparison(const std::string& data, double block_seconds, const Progress& progress) {
  const char* const python = std::getenv("UNSTARVE_PYTHON");
  if (!python || !*python)
    return left_out(
        "UNSTARVE_PYTHON is not set; expected an interpreter with the package unstarve. "
        "Run: python -m unstarve demo");
  ComparisonResult result;
  std::string failure;
  bool done = false;
  const ChildResult child = run_child(
      {python, "-P", "-m", "unstarve.comparison", data, "--seconds", fmt::format("{:g}", block_seconds), "--json"},
      [&](std::string_view line) {
        const Json answer = try_parse_ordered_json(line);
        if (!answer.is_object()) return;  // a library printed it
        if (answer.contains("progress") && progress) {
          progress(answer.at("what").get<std::string>(), answer.at("progress").get<double>());
        } else if (answer.contains("error")) {
          failure = answer.at("error").get<std::string>();
        } else if (answer.contains("result")) {
          result = comparison_from_json(answer.at("result"));
          done = true;
        }
      });
  if (done) return result;
  return left_out(!failure.empty() ? failure
                                   : fmt::format("{} -m unstarve.comparison exited with {}: {}", python, child.status,
                                                 child.last_error));
}

}  // namespace unstarve
