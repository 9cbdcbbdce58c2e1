#include "unstarve/infer/int8/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "unstarve/core/error.h"

namespace unstarve::infer {
namespace {

// By eight partial sums that do not depend on each other: each addition to the same sum waits for the one before.
double sum_of(std::span<const float> values) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t i = 0;
  for (; i + kSums <= values.size(); i += kSums)
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(values[i + k]);
  const auto rest = values.subspan(i);
  return std::accumulate(rest.begin(), rest.end(), std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace

Calibration::Calibration(const Graph& graph, std::span<const ValueId> values) : observed_(graph) {
  std::vector<ValueId> rows;
  for (const ValueId value : values) {
    const Shape& shape = graph.value(value).type.shape;
    std::size_t size = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) size *= static_cast<std::size_t>(shape[i]);
    const auto channels = static_cast<std::size_t>(shape[1]);
    activations_.push_back(
        {value, row_size_, size, channels, {}, std::vector<double>(channels, 0), std::vector<float>(channels, 0)});
    names_.push_back(graph.value(value).name);
    row_size_ += size;
    rows.push_back(observed_.add_node(observed_.unique_name("observed." + names_.back()), OpKind::kFlatten, {value},
                                      AxisAttributes{1}));
  }
  observed_.outputs = {
      observed_.add_node(observed_.unique_name("observed"), OpKind::kConcat, std::move(rows), AxisAttributes{1})};
  observed_.remove_unused();
}

void Calibration::add(std::span<const float> rows) {
  for (; !rows.empty(); rows = rows.subspan(row_size_), ++images_) {
    for (std::size_t i = 0; i < activations_.size(); ++i) {
      Activation& activation = activations_[i];
      const std::span<const float> values = rows.subspan(activation.begin, activation.size);
      if (!activation.histogram.add(values))
        throw Error(ErrorKind::kInput,
                    fmt::format("calibrate: found activations of '{}' that are not finite numbers; expected finite "
                                "numbers. The normalisation may belong to another model",
                                names_[i]));
      const std::size_t pixels = activation.size / activation.channels;
      for (std::size_t c = 0; c < activation.channels; ++c) {
        const std::span<const float> channel = values.subspan(c * pixels, pixels);
        activation.channel_sums[c] += sum_of(channel);
        for (const float element : channel)
          activation.channel_peaks[c] = std::max(activation.channel_peaks[c], std::abs(element));
      }
    }
  }
}

const Activation& Calibration::of(ValueId value) const {
  return *std::ranges::find(activations_, value, &Activation::value);
}

}  // namespace unstarve::infer
