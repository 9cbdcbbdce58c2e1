#include "unstarve/observe/report_island.h"

#include <nlohmann/json.hpp>

namespace unstarve {
namespace {

using nlohmann::json;

json profile_json(const std::optional<Profile>& profile) { return profile ? json::parse(to_json(*profile)) : json(); }

json figures_json(const std::optional<BenchFigures>& figures) {
  if (!figures) return {};
  return {{"storage", figures->storage},
          {"loader", figures->loader},
          {"copy", figures->copy},
          {"network", figures->network},
          {"together", figures->together}};
}

}  // namespace

std::string report_island(const Report& report) {
  json sections = json::array();
  for (const ReportSection& section : report.sections) {
    sections.push_back({{"ledger", json::parse(to_json(section.ledger))},
                        {"before", profile_json(section.before)},
                        {"after", profile_json(section.after)},
                        {"figures", figures_json(section.figures)}});
  }
  return json{{"sections", std::move(sections)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace unstarve
