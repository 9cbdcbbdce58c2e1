#include "unstarve/observe/bars.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace unstarve {

std::string in_words(const BarChart& chart) {
  std::string words = chart.title + ".";
  for (const Bar& bar : chart.bars) words += fmt::format(" {}: {}.", bar.name, bar.figure);
  return words;
}

nlohmann::json island_of(const BarChart& chart) {
  using nlohmann::json;
  json bars = json::array();
  for (const Bar& bar : chart.bars) {
    json parts = json::array();
    for (const BarPart& part : bar.parts) parts.push_back(json::array({part.name, part.value}));
    bars.push_back({{"name", bar.name},
                    {"figure", bar.figure},
                    {"parts", std::move(parts)},
                    {"low", bar.low},
                    {"high", bar.high}});
  }
  return {{"title", chart.title}, {"unit", chart.unit}, {"mark_name", chart.mark_name},
          {"mark", chart.mark},   {"end", chart.end},   {"bars", std::move(bars)}};
}

}  // namespace unstarve
