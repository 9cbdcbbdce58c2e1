#pragma once
// Which samples take part, in which order they come, and samples one by one: what Python asks for that makes its
// batches itself.
//
// Threads: every call that may wait gives up the GIL.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve::python {

// nanobind keeps no pointers to const; nothing that is bound of these can change them.
using DatasetPtr = std::shared_ptr<Dataset>;
using SampleSetPtr = std::shared_ptr<SampleSet>;
// from, given, weights
using Stretch = std::tuple<std::uint64_t, std::vector<std::uint64_t>, std::vector<double>>;

// (epoch, offset, used, samples, ahead) of a RankProgress.
using ProgressTuple = std::tuple<std::uint32_t, std::uint64_t, nanobind::bytes, std::uint64_t, nanobind::bytes>;

[[nodiscard]] OrderBasis basis_of(SampleSetPtr samples, const std::vector<Stretch>& stretches);

// Bits in Python are bytes, the first bit the lowest of the first byte.
[[nodiscard]] nanobind::bytes packed(const std::vector<bool>& bits);
[[nodiscard]] std::vector<bool> unpacked(const nanobind::bytes& bytes);

// What NumPy shows as float16.
inline constexpr nanobind::dlpack::dtype kFloat16Numbers{static_cast<std::uint8_t>(nanobind::dlpack::dtype_code::Float),
                                                         16, 1};

// _core's SampleSet, choose, facts, Run, RunState, SampleReader.
void bind_samples(nanobind::module_& m);

}  // namespace unstarve::python
