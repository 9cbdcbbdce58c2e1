#include "unstarve/pipeline/spec/spec_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

[[noreturn]] void fail(const std::string& node, const std::string& what) {
  throw Error(ErrorKind::kArgument, node + ": " + what);
}

void check_source(const SourceSpec& source, const std::string& node) {
  const FilterSpec& filter = source.filter;
  if (filter.min_side < 0)
    fail(node + ".filter.min_side", fmt::format("{}, expected 1 or more, or 0 for no limit", filter.min_side));
  if (filter.max_side < 0)
    fail(node + ".filter.max_side", fmt::format("{}, expected 1 or more, or 0 for no limit", filter.max_side));
  if (!(filter.max_aspect >= 0 && std::isfinite(filter.max_aspect)))
    fail(node + ".filter.max_aspect", fmt::format("{}, expected 1 or more, or 0 for no limit", filter.max_aspect));
  if (source.take && *source.take == 0) fail(node + ".take", "0, expected 1 or more; omit it to use all samples");
}

void check_weight(const std::string& node, double weight) {
  if (!std::isfinite(weight) || weight < 0) fail(node, fmt::format("{}, expected 0 or more", weight));
}

void check_mix(const PipelineSpec& spec) {
  if (spec.mix.empty()) return;
  if (spec.source != SourceSpec{})
    fail("source", "found together with mix; expected one of them. Set filter, take and split in each source of mix");
  const bool weighted = spec.mix[0].weight.has_value();
  double sum = 0;
  for (std::size_t i = 0; i < spec.mix.size(); ++i) {
    const std::string node = fmt::format("mix[{}]", i);
    check_source(spec.mix[i], node);
    if (spec.mix[i].weight.has_value() != weighted)
      fail(node + ".weight", "only some sources have a weight; expected one for all or for none");
    const auto& earlier = spec.mix[i].earlier_weights;
    if (earlier.size() != spec.mix[0].earlier_weights.size())
      fail(node + ".earlier_weights",
           fmt::format("{} weights, expected {} as in mix[0]", earlier.size(), spec.mix[0].earlier_weights.size()));
    if (!weighted && !earlier.empty()) fail(node + ".earlier_weights", "found without mix[].weight; expected both");
    for (std::size_t k = 0; k < earlier.size(); ++k)
      check_weight(fmt::format("{}.earlier_weights[{}]", node, k), earlier[k]);
    if (!weighted) continue;
    check_weight(node + ".weight", *spec.mix[i].weight);
    sum += *spec.mix[i].weight;
  }
  if (!weighted) return;
  if (sum == 0) fail("mix", "all weights are 0, expected at least one above 0");
  if (spec.order.balance) fail("order.balance", "true together with weights of mix; expected one of them");
  if (!spec.order.shuffle)
    fail("order.shuffle",
         "false with weights of mix, which draw samples in random order; expected true, or no weights");
}

}  // namespace

void check_sources(const PipelineSpec& spec) {
  const OrderSpec& order = spec.order;
  check_source(spec.source, "source");
  if (spec.source.weight) fail("source.weight", "found for a single source; expected weights only in mix");
  if (!spec.source.earlier_weights.empty())
    fail("source.earlier_weights", "found for a single source; expected weights only in mix");
  check_mix(spec);
  if (order.repeat < 1) fail("order.repeat", "0, expected 1 or more");
  if (order.window > 0 && !order.shuffle)
    fail("order.window", "a window without shuffling; expected order.shuffle: true");
  if (!order.class_weights.empty() && !order.balance)
    fail("order.class_weights", "found without balancing; expected order.balance: true");
  for (const auto& [name, weight] : order.class_weights) check_weight("order.class_weights." + name, weight);
  if (!order.balance) return;
  if (!order.shuffle) fail("order.balance", "true without shuffling; expected order.shuffle: true");
  if (order.window > 0) fail("order.window", "a window together with order.balance; expected one of them");
}

}  // namespace unstarve
