#pragma once
// The part of a state that tells of a mixture: which weights held from which sample of the run on.
//
//   of up to kKeptSources sources   [[from, [given, ...], [weight, ...]], ...]   since the stretch that runs
//   of more                         [[from, "digest of the weights"], ...]       since the beginning of the run
//
// With few sources the weights may be changed after any resume. The weights of many do not fit into a state: it names
// them by a digest, and they are taken from the spec: those that hold now, and mix's earlier_weights where the run had
// others before. What each source gave follows from them.
//
// Threads: plain functions. Failure: Error(kArgument).

#include <cstdint>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "unstarve/pipeline/order/mixture.h"

namespace unstarve {

inline constexpr std::size_t kKeptSources = 8;

// `here`: the sample of the run at which it stands.
[[nodiscard]] nlohmann::ordered_json mixture_state(std::span<const MixtureStretch> stretches, std::uint64_t here);

// The stretches of a run that stands at `here` and goes on with `weights`. A list of either form, whatever the number
// of sources.
[[nodiscard]] std::vector<MixtureStretch> mixture_from_state(const nlohmann::ordered_json& state,
                                                             const std::vector<double>& weights,
                                                             std::span<const std::vector<double>> earlier,
                                                             std::uint64_t here);

}  // namespace unstarve
