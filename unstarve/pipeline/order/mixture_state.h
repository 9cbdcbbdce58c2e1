#pragma once
// The part of a run state that describes a mixture: the weights, and the sample of the run from which they apply.
//
//   up to kStoredSources sources   [[from, [given, ...], [weight, ...]], ...]   from the current stretch on
//   more sources                   [[from, "digest of the weights"], ...]       from the beginning of the run on
//
// With few sources the weights may change at any resume. Many weights do not fit into a state, so it contains only
// their digest. The weights themselves come from the spec: mix[].weight and mix[].earlier_weights. The samples drawn
// from each source follow from them.
//
// Failure: Error(kArgument).

#include <cstdint>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "unstarve/pipeline/order/mixture.h"

namespace unstarve {

inline constexpr std::size_t kStoredSources = 8;

// `here`: the current sample of the run.
[[nodiscard]] nlohmann::ordered_json mixture_state(std::span<const MixtureStretch> stretches, std::uint64_t here);

// The stretches of a run at sample `here` that continues with `weights`. Accepts both forms for any number of sources.
[[nodiscard]] std::vector<MixtureStretch> mixture_from_state(const nlohmann::ordered_json& state,
                                                             const std::vector<double>& weights,
                                                             std::span<const std::vector<double>> earlier,
                                                             std::uint64_t here);

}  // namespace unstarve
