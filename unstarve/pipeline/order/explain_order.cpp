#include "unstarve/pipeline/order/explain_order.h"

#include <fmt/format.h>

#include "unstarve/pipeline/order/mixture.h"
#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {
namespace {

constexpr std::size_t kMaxListedGroups = 16;  // there may be thousands of classes

std::string explain_mixture(const PipelineSpec& spec, const SampleSet& samples) {
  const Mixture mixture(samples.weights());
  std::string text;
  for (std::size_t group = 0; group < samples.groups() && !spec.order.balance; ++group) {
    if (group == kMaxListedGroups) {
      text += fmt::format("mix         and {} more\n", samples.groups() - group);
      break;
    }
    text += fmt::format("mix         {} of each {} from {}, {} samples\n", mixture.quota(group), mixture.block(),
                        spec.mix[group].path, samples.group_size(group));
  }
  if (spec.order.balance)
    text += fmt::format("balance     {} classes, {}, in blocks of {} samples\n", samples.groups(),
                        spec.order.class_weights.empty() ? "equally often" : "by their weights", mixture.block());
  const std::string deviation =
      mixture.deviation() < 1e-9 ? "exactly the weights"
                                 : fmt::format("within {:.2g} % of a block of the weights", 100 * mixture.deviation());
  return text + fmt::format("            {}; an exhausted group restarts\n", deviation);
}

}  // namespace

std::string explain_order(const PipelineSpec& spec, const SampleSet& samples, std::uint64_t length) {
  const OrderSpec& order = spec.order;
  std::string text;
  if (!samples.everything()) text += fmt::format("samples     {} of {} selected\n", samples.size(), samples.records());
  for (const std::string& note : samples.notes) text += "            " + note + "\n";
  text += fmt::format("order       {}, seed {}, rank {} of {}\n", order.shuffle ? "keyed permutation" : "storage order",
                      order.seed, order.rank, order.world);
  if (order.window > 0)
    text += fmt::format("            in windows of {} samples, made of runs of {} in storage order\n", order.window,
                        kWindowRun);
  if (!samples.weights().empty()) text += explain_mixture(spec, samples);
  if (order.repeat > 1 || order.epoch > 0) {
    text += fmt::format("epoch       {} samples", length);
    if (order.repeat > 1 && samples.weights().empty())
      text += fmt::format(", {} passes, each in a different order", order.repeat);
    text += '\n';
  }
  return text;
}

}  // namespace unstarve
