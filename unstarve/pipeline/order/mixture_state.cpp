#include "unstarve/pipeline/order/mixture_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <string>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"

namespace unstarve {
namespace {

using Json = nlohmann::ordered_json;

template <class... Args>
[[noreturn]] void reject_mixture(fmt::format_string<Args...> what, Args&&... args) {
  throw argument_error("state: mix: {}", fmt::format(what, std::forward<Args>(args)...));
}

std::string mixture_digest(std::span<const double> weights) {
  std::uint64_t digest = mix_bits(weights.size());
  for (const double weight : weights) digest = tweak_of(digest, std::bit_cast<std::uint64_t>(weight + 0.0));
  return fmt::format("{:016x}", digest);
}

std::uint64_t start_of(const Json& entry, std::size_t elements) {
  if (!entry.is_array() || entry.size() != elements || !entry[0].is_number_unsigned())
    reject_mixture("found {}; expected a list of {} elements that begins with a sample number", json_text(entry),
                   elements);
  return entry[0].get<std::uint64_t>();
}

MixtureStretch stored_stretch(const Json& entry) {
  MixtureStretch stretch{start_of(entry, 3), {}, {}};
  try {
    for (const Json& given : entry[1])
      if (!given.is_number_unsigned())
        reject_mixture("found {}; expected the number of samples drawn from a source", json_text(given));
    stretch.given = entry[1].get<std::vector<std::uint64_t>>();
    stretch.weights = entry[2].get<std::vector<double>>();
  } catch (const Json::exception&) {
    reject_mixture("found {}; expected lists of numbers", json_text(entry));
  }
  return stretch;
}

std::vector<MixtureStretch> stored_stretches(const Json& state) {
  std::vector<MixtureStretch> stretches;
  for (const Json& entry : state) stretches.push_back(stored_stretch(entry));
  return stretches;
}

std::vector<MixtureStretch> digested_stretches(const Json& state, const std::vector<double>& weights,
                                               std::span<const std::vector<double>> earlier) {
  const auto find = [&](const std::string& digest, std::uint64_t from) -> const std::vector<double>& {
    if (mixture_digest(weights) == digest) return weights;
    const auto found =
        std::find_if(earlier.begin(), earlier.end(), [&](const auto& list) { return mixture_digest(list) == digest; });
    if (found != earlier.end()) return *found;
    reject_mixture(
        "the run had other weights from its sample {} on; a state of more than {} sources contains only their digest "
        "({}), which matches neither mix[].weight nor mix[].earlier_weights (sets of weights: {}). Add them there (in "
        "Python: un.mix(earlier=[...]))",
        from, kStoredSources, digest, earlier.size());
  };
  std::vector<MixtureStretch> stretches;
  for (const Json& entry : state) {
    const std::uint64_t from = start_of(entry, 2);
    if (!entry[1].is_string()) reject_mixture("found {}; expected the digest of weights", json_text(entry[1]));
    MixtureStretch stretch{from, std::vector<std::uint64_t>(weights.size()), find(entry[1].get<std::string>(), from)};
    if (!stretches.empty()) {
      const MixtureStretch& before = stretches.back();
      const Mixture mixture(before.weights);
      if (from < before.from || (from - before.from) % mixture.block() != 0)
        reject_mixture("weights change at sample {}; expected a multiple of {} samples after {}", from, mixture.block(),
                       before.from);
      const std::uint64_t blocks = (from - before.from) / mixture.block();
      for (std::size_t group = 0; group < weights.size(); ++group)
        stretch.given[group] = before.given[group] + blocks * mixture.quota(group);
    } else if (from != 0) {
      reject_mixture("it begins at sample {}; expected 0", from);
    }
    stretches.push_back(std::move(stretch));
  }
  return stretches;
}

}  // namespace

Json mixture_state(std::span<const MixtureStretch> stretches, std::uint64_t here) {
  Json state = Json::array();
  if (stretches.front().weights.size() > kStoredSources && stretches.front().from == 0) {
    for (const MixtureStretch& stretch : stretches) state.push_back({stretch.from, mixture_digest(stretch.weights)});
    return state;
  }
  std::size_t running = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i)
    if (stretches[i].from <= here) running = i;
  for (const MixtureStretch& stretch : stretches.subspan(running))
    state.push_back({stretch.from, stretch.given, stretch.weights});
  return state;
}

std::vector<MixtureStretch> mixture_from_state(const Json& state, const std::vector<double>& weights,
                                               std::span<const std::vector<double>> earlier, std::uint64_t here) {
  if (!state.is_array() || state.empty() || !state[0].is_array())
    reject_mixture("found {}; expected a list of stretches of weights", json_text(state));
  std::vector<MixtureStretch> stretches =
      state[0].size() == 2 ? digested_stretches(state, weights, earlier) : stored_stretches(state);
  const MixtureStretch running = std::move(stretches.back());
  stretches.pop_back();
  for (MixtureStretch& next : continue_mixture(running, weights, here)) stretches.push_back(std::move(next));
  return stretches;
}

}  // namespace unstarve
