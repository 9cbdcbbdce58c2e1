#include "unstarve/jobs/batch_find.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/finders/batch_meter.h"
#include "unstarve/jobs/finders/check_finder.h"
#include "unstarve/jobs/probe/memory_probe.h"
#include "unstarve/jobs/training/train_data.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

// Share of the progress that belongs to the sizes, and the number of sizes that is assumed.
constexpr double kSizesShare = 0.9;
constexpr int kExpectedSizes = 14;

// The bytes that this process may use: those it has and those that are available, or the limit.
std::size_t available_bytes(std::size_t limit) {
  const std::size_t machine = MemoryProbe().before_bytes() + read_machine_facts().memory_available_bytes;
  return limit > 0 ? std::min(limit, machine) : machine;
}

void check_sizes(const BatchFindOptions& options) {
  if (options.from >= 1 && (options.to == 0 || options.from <= options.to)) return;
  throw Error(ErrorKind::kArgument, fmt::format("batch-find: found sizes from {} to {}; expected 1 <= --from <= --to",
                                                options.from, options.to));
}

int largest_to_try(const BatchFindOptions& options, std::uint64_t samples) {
  constexpr std::uint64_t kMost = 1 << 20;
  if (options.to > 0) return options.to;
  return std::max(options.from, round_to_eight(static_cast<int>(std::min(samples, kMost))));
}

// Whether networks of both sizes fit at the same time. Unknown sizes are assumed to fit; running out of memory is
// handled.
bool fit_together(const BatchSearchResult& search, const BatchPoint& point, std::size_t base_bytes) {
  const std::size_t growth = point.host_bytes > base_bytes ? point.host_bytes - base_bytes : 0;
  return search.limit_bytes == 0 || base_bytes + 2 * growth <= search.limit_bytes;
}

BatchCheck check_batch(BatchMeter& meter, const BatchFindResult& result, std::size_t base_bytes) {
  BatchCheck check;
  check.multiple = result.knee_point().batch;
  const std::optional<int> other = next_to_multiple(check.multiple);
  if (!other) {
    check.reason = fmt::format("the knee, {}, is below 16 or not a multiple of 8", check.multiple);
    return check;
  }
  constexpr const char* kNoMemory = "two networks of this size do not fit in memory";
  if (!fit_together(result.search, result.knee_point(), base_bytes)) {
    check.reason = kNoMemory;
    return check;
  }
  try {
    check.ratio = meter.compare(*other, check.multiple);
    check.batch = *other;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMemory) throw;
    check.reason = kNoMemory;
  }
  return check;
}

ChannelCheck check_channels(BatchMeter& meter, int batch) {
  ChannelCheck check;
  const std::optional<LayerShape> layer = heaviest_aligned_layer(meter.layers());
  if (!layer) {
    check.reason = "no layer without groups has 16 or more channels that are multiples of 8";
    return check;
  }
  try {
    check.unaligned = with_unaligned_channels(*layer);
    check.ratio = meter.compare_layers(check.unaligned, *layer, batch);
    check.layer = layer;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMemory) throw;
    check.reason = fmt::format("{} with other channels does not fit in memory", layer->name);
  }
  return check;
}

}  // namespace

BatchFindResult run_batch_find(const BatchFindOptions& options, const Progress& progress) {
  const auto report = [&](const std::string& what, double share) {
    if (progress) progress(what, share);
  };
  report("opening the data", 0);
  ConfigurationFaults faults = options.faults;
  check_finder(options.settings, faults);
  faults.collect([&] { check_sizes(options); });
  std::shared_ptr<const Dataset> dataset;
  if (has_source(options.settings.pipeline) || !faults.any())
    faults.collect([&] { dataset = open_sources(options.settings.pipeline); });
  faults.throw_if_any();
  notify_done_on_host(options.settings.pipeline);
  BatchFindResult result;
  result.data = name_of_sources(options.settings.pipeline);
  result.settings = options.settings;
  result.target = options.target;
  const double begin = seconds_now();
  BatchMeter meter(options.settings, dataset, options.target, options.seconds);

  BatchSearch search;
  search.from = options.from;
  search.to = largest_to_try(options, dataset->size());
  search.longest_s = options.longest_s > 0 ? options.longest_s : kSlowest * options.seconds;
  search.base_bytes = MemoryProbe().before_bytes();
  search.available = [&] { return available_bytes(options.memory_bytes); };
  int sizes = 0;
  search.measure = [&](int batch) {
    report(fmt::format("batch {}", batch), kSizesShare * std::min(1.0, static_cast<double>(sizes++) / kExpectedSizes));
    return meter.measure(batch);
  };
  result.search = search_batches(search);
  if (options.target.cuda()) result.search.predicted_largest.reset();  // the memory of the GPU is not predicted
  result.best = best_point(result.search.points);
  result.knee = knee_of(result.search.points);

  report("multiples of 8", kSizesShare);
  result.batch_check = check_batch(meter, result, search.base_bytes);
  result.channel_check = check_channels(meter, result.knee_point().batch);
  result.unaligned_layers = unaligned_layers(meter.layers());
  result.rule = scaling_rule(options.settings.train.optimiser.name);
  result.learning_rate = scaled_rate(options.settings.train.learning_rate, options.settings.pipeline.batch.size,
                                     result.knee_point().batch, result.rule);
  result.seconds = seconds_now() - begin;
  report("done", 1);
  return result;
}

std::string flags_of(const BatchFindResult& result) {
  return fmt::format("--batch {} --learning-rate {:.3g}", result.knee_point().batch, result.learning_rate);
}

}  // namespace unstarve
