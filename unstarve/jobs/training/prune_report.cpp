#include "unstarve/jobs/training/prune_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "unstarve/jobs/common/pruned_channels.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

double share(std::int64_t zeros, std::int64_t weights) {
  return static_cast<double>(zeros) / static_cast<double>(std::max<std::int64_t>(weights, 1));
}

// The dense layers, by reason: "conv1.weight (first convolution)".
std::string dense_text(const PruneResult& result) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  for (const DenseLayer& layer : result.dense) {
    if (names.size() == kMost) break;
    names.push_back(fmt::format("{} ({})", layer.name, layer.reason));
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (result.dense.size() > kMost) text += fmt::format(" and {} more, listed by --json", result.dense.size() - kMost);
  return text;
}

// Follows "zeros".
const char* effect_of_zeros(const PruneSettings& settings) {
  return settings.has_pattern()
             ? "make the compressed file smaller; only engines for this pattern compute faster with them"
             : "make the compressed file smaller; common engines do not compute faster with them";
}

std::string sizes_text(const PruneResult& r) {
  return fmt::format("size      float32 {}, zip {}\n", format_bytes(static_cast<std::uint64_t>(r.file_bytes)),
                     format_bytes(static_cast<std::uint64_t>(r.zip_bytes)));
}

std::string channels_text(const PruneResult& r) {
  return fmt::format("pruned    channels: {}\n", to_text(*r.channels)) + sizes_text(r);
}

nlohmann::ordered_json sizes_json(const PruneResult& r) {
  return {{"float32_bytes", r.file_bytes}, {"zip_bytes", r.zip_bytes}};
}

nlohmann::ordered_json channels_json(const PruneResult& r, const PruneSettings& settings) {
  nlohmann::ordered_json channels{{"target", settings.sparsity}, {"pattern", "channels"}, {"sizes", sizes_json(r)}};
  channels.update(to_json(*r.channels));
  return channels;
}

ReportTile share_tile(double after, double before, const char* label) {
  return {format_percent(after / std::max(before, 1.0)), label};
}

std::vector<ReportTile> size_tiles(const PruneResult& r) {
  return {{format_bytes(static_cast<std::uint64_t>(r.file_bytes)), "weights in float32"},
          {format_bytes(static_cast<std::uint64_t>(r.zip_bytes)), "the same compressed, as zip"}};
}

FiguresTable layers_table(const PruneResult& r) {
  FiguresTable table{"Layers", {"layer", "weights", "zeros", "sparsity"}, {}};
  for (const PrunedLayer& layer : r.layers)
    table.rows.push_back({layer.name, fmt::format("{}", layer.weights), fmt::format("{}", layer.zeros),
                          format_percent(share(layer.zeros, layer.weights))});
  for (const DenseLayer& layer : r.dense) table.rows.push_back({layer.name, "", "", "dense: " + layer.reason});
  table.named = true;
  return table;
}

FiguresTable channels_table(const PrunedChannels& channels) {
  FiguresTable table{"Output channels", {"layer", "before", "after", "remark"}, {}};
  for (const LayerChannels& layer : channels.layers)
    table.rows.push_back({layer.name, fmt::format("{}", layer.before), fmt::format("{}", layer.after),
                          layer.fixed.empty() ? "" : "all remain: " + layer.fixed});
  table.named = true;
  return table;
}

}  // namespace

std::string to_text(const PruneResult& r, const PruneSettings& settings) {
  if (r.channels) return channels_text(r);
  std::string text =
      fmt::format("pruned    {:.2f} % of {} weights of {} layers{}{}\n", 100 * share(r.zeros(), r.weights()),
                  r.weights(), r.layers.size(), settings.has_pattern() ? ", pattern " + settings.pattern : "",
                  r.dense.empty() ? "" : "; dense: " + dense_text(r));
  text += sizes_text(r);
  return text + fmt::format("          zeros {}\n", effect_of_zeros(settings));
}

nlohmann::ordered_json to_json(const PruneResult& r, const PruneSettings& settings) {
  if (r.channels) return channels_json(r, settings);
  nlohmann::ordered_json json{{"sparsity", share(r.zeros(), r.weights())},
                              {"target", final_sparsity(settings)},
                              {"pattern", nullptr},
                              {"weights", r.weights()},
                              {"zeros", r.zeros()},
                              {"sizes", sizes_json(r)},
                              {"layers", nlohmann::json::array()},
                              {"dense", nlohmann::json::array()}};
  if (settings.has_pattern()) json["pattern"] = settings.pattern;
  for (const PrunedLayer& layer : r.layers)
    json["layers"].push_back({{"name", layer.name},
                              {"weights", layer.weights},
                              {"zeros", layer.zeros},
                              {"sparsity", share(layer.zeros, layer.weights)}});
  for (const DenseLayer& layer : r.dense) json["dense"].push_back({{"name", layer.name}, {"reason", layer.reason}});
  return json;
}

CurveSection section_of(const PruneResult& r, const PruneSettings& settings) {
  CurveSection section;
  section.title = "Pruning";
  if (r.channels) {
    const PrunedChannels& channels = *r.channels;
    section.verdict = to_text(channels);
    section.tiles = {
        share_tile(channels.multiply_adds_after, channels.multiply_adds_before, "of the multiply-adds remain"),
        share_tile(static_cast<double>(channels.parameters_after), static_cast<double>(channels.parameters_before),
                   "of the parameters remain")};
    section.tables = {channels_table(channels)};
  } else {
    section.verdict = fmt::format("{} of {} weights of {} layers are zero{}", r.zeros(), r.weights(), r.layers.size(),
                                  settings.has_pattern() ? ", pattern " + settings.pattern : "");
    section.tiles = {{format_percent(share(r.zeros(), r.weights())), "of these weights are zero"}};
    section.tables = {layers_table(r)};
    section.notes = {fmt::format("Zeros {}.", effect_of_zeros(settings))};
  }
  for (ReportTile& tile : size_tiles(r)) section.tiles.push_back(std::move(tile));
  return section;
}

}  // namespace unstarve
