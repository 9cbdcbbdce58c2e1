#pragma once
// Sample sets, orders and single samples, for pipelines whose batches are assembled in Python.
//
// Threads: every call that may block releases the GIL.

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

// nanobind does not support pointers to const; no bound function modifies these objects.
using DatasetPtr = std::shared_ptr<Dataset>;
using SampleSetPtr = std::shared_ptr<SampleSet>;
// (from, given, weights) of a MixtureStretch
using Stretch = std::tuple<std::uint64_t, std::vector<std::uint64_t>, std::vector<double>>;

// A RankProgress: epoch, offset and used samples of its start, the number of samples since then, and the later ones.
using ProgressTuple = std::tuple<std::uint32_t, std::uint64_t, nanobind::bytes, std::uint64_t, nanobind::bytes>;

// An EpochPosition: epoch, batch, offset, used samples.
using PositionTuple = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, nanobind::bytes>;

[[nodiscard]] EpochPosition position_of(const PositionTuple& position);
[[nodiscard]] OrderBasis basis_of(SampleSetPtr samples, const std::vector<Stretch>& stretches);

// Bit sets are bytes in Python, first bit in the lowest bit of the first byte.
[[nodiscard]] nanobind::bytes packed(const std::vector<bool>& bits);
[[nodiscard]] std::vector<bool> unpacked(const nanobind::bytes& bytes);

// The DLPack type of NumPy's float16.
inline constexpr nanobind::dlpack::dtype kFloat16Numbers{static_cast<std::uint8_t>(nanobind::dlpack::dtype_code::Float),
                                                         16, 1};

}  // namespace unstarve::python
