#include "unstarve/jobs/common/findings.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {

std::string gain_text(const RunFinding& finding) {
  const GainPrediction& gain = finding.gain;
  if (gain.gain <= 1) return "";
  if (!gain.known()) return fmt::format("up to {:.2f} times the throughput", gain.gain);
  return fmt::format("{:.2f} times the throughput, predicted; between {:.2f} and {:.2f}", gain.gain, gain.low,
                     gain.high);
}

std::string verdict_of(std::span<const RunFinding> findings) {
  return findings.empty() ? "no known cause of lost time was found" : findings[0].title;
}

std::string findings_to_text(std::span<const RunFinding> findings) {
  std::string text;
  int number = 0;
  for (const RunFinding& finding : findings) {
    const std::string confidence =
        finding.confidence == Confidence::kHigh ? "" : fmt::format(" ({} confidence)", to_string(finding.confidence));
    text += fmt::format("\n{}. {}{}\n   evidence: {}\n   change:   {}\n", ++number, finding.title, confidence,
                        finding.evidence, finding.change);
    if (const std::string gain = gain_text(finding); !gain.empty()) text += "   gain:     " + gain + "\n";
  }
  return text;
}

std::string diagnosis_to_json(const std::string& verdict, std::span<const RunFinding> findings,
                              const RunProfile& profile) {
  Json list = Json::array();
  for (const RunFinding& finding : findings) {
    Json changes = Json::object();
    for (const auto& [library, change] : finding.changes.by_library()) changes[library] = change;
    list.push_back(
        {{"rule", finding.rule},
         {"title", finding.title},
         {"evidence", finding.evidence},
         {"change", finding.change},
         {"changes", std::move(changes)},
         {"confidence", to_string(finding.confidence)},
         {"lost", finding.lost},
         {"gain", finding.gain.gain > 0 ? Json(finding.gain.gain) : Json(nullptr)},
         {"gain_interval", finding.gain.known() ? Json{finding.gain.low, finding.gain.high} : Json(nullptr)}});
  }
  const SufficientMachine enough = sufficient_machine(profile);
  Json machine;
  if (enough.cores > 0) machine = {{"cores", enough.cores}, {"memory_bytes", enough.memory_bytes}};
  const Json json{{"verdict", verdict},
                  {"findings", std::move(list)},
                  {"sufficient_machine", std::move(machine)},
                  {"profile", parse_ordered_json(to_json(profile))}};
  return json_text(json, 1);
}

}  // namespace unstarve
