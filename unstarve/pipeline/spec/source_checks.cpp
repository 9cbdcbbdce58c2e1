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
    fail(node + ".filter.min_side", fmt::format("{}, expected 1 or more, or 0 for any", filter.min_side));
  if (filter.max_side < 0)
    fail(node + ".filter.max_side", fmt::format("{}, expected 1 or more, or 0 for any", filter.max_side));
  if (!(filter.max_aspect >= 0 && std::isfinite(filter.max_aspect)))
    fail(node + ".filter.max_aspect", fmt::format("{}, expected 1 or more, or 0 for any", filter.max_aspect));
  if (source.take && *source.take == 0) fail(node + ".take", "0, expected 1 or more; leave it out to take all");
}

void check_weight(const std::string& node, double weight) {
  if (!std::isfinite(weight) || weight < 0) fail(node, fmt::format("{}, expected 0 or more", weight));
}

void check_mix(const PipelineSpec& spec) {
  if (spec.mix.empty()) return;
  if (spec.source != SourceSpec{})
    fail("source", "expected nothing here where mix names the sources; filter, take and split stand with each of them");
  const bool weighted = spec.mix[0].weight.has_value();
  double sum = 0;
  for (std::size_t i = 0; i < spec.mix.size(); ++i) {
    const std::string node = fmt::format("mix[{}]", i);
    check_source(spec.mix[i], node);
    if (spec.mix[i].weight.has_value() != weighted)
      fail(node + ".weight", "some sources have a weight and others none, expected one for all or for none");
    const auto& earlier = spec.mix[i].earlier_weights;
    if (earlier.size() != spec.mix[0].earlier_weights.size())
      fail(node + ".earlier_weights",
           fmt::format("{} of them, expected {} as of mix[0]", earlier.size(), spec.mix[0].earlier_weights.size()));
    if (!weighted && !earlier.empty()) fail(node + ".earlier_weights", "expected mix[].weight with it");
    for (std::size_t k = 0; k < earlier.size(); ++k)
      check_weight(fmt::format("{}.earlier_weights[{}]", node, k), earlier[k]);
    if (!weighted) continue;
    check_weight(node + ".weight", *spec.mix[i].weight);
    sum += *spec.mix[i].weight;
  }
  if (!weighted) return;
  if (sum == 0) fail("mix", "all weights are 0, expected one above it");
  if (spec.order.balance)
    fail("order.balance", "classes are balanced or sources are weighted, not both; leave the weights of mix out");
  if (!spec.order.shuffle)
    fail("order.shuffle", "sources with weights are drawn in random order, expected true; leave the weights out");
}

}  // namespace

void check_sources(const PipelineSpec& spec) {
  const OrderSpec& order = spec.order;
  check_source(spec.source, "source");
  if (spec.source.weight) fail("source.weight", "a lone source has no weight, expected it in mix");
  if (!spec.source.earlier_weights.empty())
    fail("source.earlier_weights", "a lone source has none, expected it in mix");
  check_mix(spec);
  if (order.repeat < 1) fail("order.repeat", "0, expected 1 or more");
  if (order.window > 0 && !order.shuffle)
    fail("order.window", "samples as stored have no window, expected order.shuffle: true");
  if (!order.class_weights.empty() && !order.balance)
    fail("order.class_weights", "expected order.balance: true with it");
  for (const auto& [name, weight] : order.class_weights) check_weight("order.class_weights." + name, weight);
  if (!order.balance) return;
  if (!order.shuffle) fail("order.balance", "classes are drawn in random order, expected order.shuffle: true");
  if (order.window > 0) fail("order.window", "samples of one class do not lie side by side; leave it out, or balance");
}

}  // namespace unstarve
