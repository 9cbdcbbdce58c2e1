#include "unstarve/jobs/finders/batch_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace unstarve {
namespace {

constexpr int kMultiple = 8;
// high / low of an interval that is too wide to compare rates with.
constexpr double kWideInterval = 1.10;
// Distance of the batch and of the channels that are measured next to a multiple of 8.
constexpr int kOffMultiple = 4;

// Bytes per sample.
double steepest_growth(std::span<const BatchMemory> points) {
  const BatchMemory& last = points.back();
  double growth = 0;
  for (const BatchMemory& point : points.first(points.size() - 1))
    growth = std::max(growth, (static_cast<double>(last.bytes) - static_cast<double>(point.bytes)) /
                                  static_cast<double>(last.batch - point.batch));
  return growth;
}

}  // namespace

double BatchPoint::utilisation() const { return alone.rate > 0 ? std::min(1.0, together.rate / alone.rate) : 0; }

RateEstimate estimate_rate(std::span<const double> blocks) {
  const std::vector<double> ones(blocks.size(), 1.0);
  const RatioInterval mean = ratio_interval(blocks, ones);
  return {mean.ratio, mean.low, mean.high, mean.pairs};
}

std::size_t predict_memory(std::span<const BatchMemory> points, int batch) {
  const BatchMemory& last = points.back();
  return last.bytes + static_cast<std::size_t>(std::ceil(steepest_growth(points) * (batch - last.batch)));
}

std::optional<int> largest_within(std::span<const BatchMemory> points, std::size_t limit) {
  const BatchMemory& last = points.back();
  if (last.bytes > limit) return 0;
  const double growth = steepest_growth(points);
  if (growth <= 0) return std::nullopt;
  const double more = std::floor(static_cast<double>(limit - last.bytes) / growth);
  return last.batch + static_cast<int>(std::min(more, 1e9));
}

bool reaches_best(const RateEstimate& rate, const RateEstimate& best) {
  const double needed = kKneeShare * best.rate;
  return rate.rate >= needed || (rate.high >= needed && rate.high <= kWideInterval * rate.low);
}

std::size_t best_point(std::span<const BatchPoint> points) {
  const auto best = std::ranges::max_element(
      points, [](const BatchPoint& a, const BatchPoint& b) { return a.together.rate < b.together.rate; });
  return static_cast<std::size_t>(best - points.begin());
}

std::size_t knee_of(std::span<const BatchPoint> points) {
  const RateEstimate& best = points[best_point(points)].together;
  const auto knee =
      std::ranges::find_if(points, [&](const BatchPoint& point) { return reaches_best(point.together, best); });
  return static_cast<std::size_t>(knee - points.begin());
}

std::optional<int> next_refinement(std::span<const BatchPoint> points) {
  const std::size_t knee = knee_of(points);
  if (knee == 0) return std::nullopt;
  const int below = points[knee - 1].batch;
  const int middle = round_to_eight((below + points[knee].batch) / 2);
  return middle > below ? std::optional(middle) : std::nullopt;
}

int round_to_eight(int batch) { return batch < kMultiple ? batch : batch / kMultiple * kMultiple; }

std::optional<int> next_to_multiple(int batch) {
  if (batch % kMultiple != 0 || batch < 2 * kMultiple) return std::nullopt;
  return batch - kOffMultiple;
}

std::vector<LayerShape> unaligned_layers(std::span<const LayerShape> layers) {
  std::vector<LayerShape> unaligned;
  for (const LayerShape& layer : layers) {
    const bool in = &layer != &layers.front() && layer.in % kMultiple != 0;
    const bool out = &layer != &layers.back() && layer.out % kMultiple != 0;
    if (in || out) unaligned.push_back(layer);
  }
  return unaligned;
}

std::optional<LayerShape> heaviest_aligned_layer(std::span<const LayerShape> layers) {
  std::optional<LayerShape> heaviest;
  for (const LayerShape& layer : layers) {
    const bool aligned = next_to_multiple(layer.in) && next_to_multiple(layer.out);
    if (aligned && layer.groups == 1 && (!heaviest || layer.macs() > heaviest->macs())) heaviest = layer;
  }
  return heaviest;
}

LayerShape with_unaligned_channels(LayerShape layer) {
  layer.in -= kOffMultiple;
  layer.out -= kOffMultiple;
  return layer;
}

}  // namespace unstarve
