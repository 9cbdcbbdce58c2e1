#include "unstarve/jobs/common/pruned_channels.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unstarve/observe/format.h"

namespace unstarve {

std::string to_text(const PrunedChannels& channels) {
  return fmt::format("{} multiply-adds to {}, {} parameters to {}", format_rate(channels.multiply_adds_before),
                     format_rate(channels.multiply_adds_after),
                     format_rate(static_cast<double>(channels.parameters_before)),
                     format_rate(static_cast<double>(channels.parameters_after)));
}

nlohmann::ordered_json to_json(const PrunedChannels& channels) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerChannels& layer : channels.layers) {
    layers.push_back(
        {{"name", layer.name}, {"channels", layer.before}, {"channels_after", layer.after}, {"fixed", nullptr}});
    if (!layer.fixed.empty()) layers.back()["fixed"] = layer.fixed;
  }
  return {{"multiply_adds", channels.multiply_adds_before},
          {"multiply_adds_after", channels.multiply_adds_after},
          {"parameters", channels.parameters_before},
          {"parameters_after", channels.parameters_after},
          {"layers", layers}};
}

}  // namespace unstarve
