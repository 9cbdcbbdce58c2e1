#include "unstarve/pipeline/spec/check_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "unstarve/core/format_error.h"
#include "unstarve/device/device.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/spec/faults.h"
#include "unstarve/pipeline/spec/pass_switches.h"
#include "unstarve/pipeline/spec/spec_nodes.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {
namespace {

template <class... Args>
[[noreturn]] void fail(const std::string& node, fmt::format_string<Args...> what, Args&&... args) {
  throw argument_error("{}: {}", node, fmt::format(what, std::forward<Args>(args)...));
}

// Checks that every number is finite and within the range of its node.
class RangeChecks {
 public:
  // `path`: of the mapping, with a dot at its end; empty for the root.
  explicit RangeChecks(Faults& faults, std::string path = "") : faults_(faults), path_(std::move(path)) {}

  template <class T>
  void node(const char* key, const T& value, const NodeInfo& info) const {
    faults_.collect([&] { check(path_ + key, value, info); });
  }
  template <class Visit>
  void map(const char* key, const NodeInfo&, const Visit& visit) const {
    const RangeChecks inner(faults_, path_ + key + ".");
    visit(inner);
  }
  template <class Visit>
  void sources(const char* key, const std::vector<SourceSpec>& sources, const NodeInfo&, const Visit& visit) const {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const RangeChecks inner(faults_, fmt::format("{}[{}].", key, i));
      visit(inner, sources[i]);
    }
  }

 private:
  template <class T>
  static void check(const std::string& node, const T& value, const NodeInfo& info) {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const auto number = static_cast<double>(value);
      const bool low = info.above ? !(number > *info.above) : info.minimum && !(number >= *info.minimum);
      if (low || (info.maximum && !(number <= *info.maximum)) || !std::isfinite(number))
        fail(node, "{}; expected {}", value, expected(info, low));
    }
  }
  template <class T>
  static void check(const std::string& node, const std::optional<T>& value, const NodeInfo& info) {
    if (value) check(node, *value, info);
  }
  // check_normalisation() reports numbers above the maximum.
  static void check(const std::string& node, const std::array<float, kChannels>& values, const NodeInfo& info) {
    for (const float value : values)
      if (!std::isfinite(value) || value <= *info.maximum) check(node, value, info);
  }
  static void check(const std::string& node, const std::vector<double>& values, const NodeInfo& info) {
    for (std::size_t i = 0; i < values.size(); ++i) check(fmt::format("{}[{}]", node, i), values[i], info);
  }
  static void check(const std::string& node, const std::map<std::string, double>& values, const NodeInfo& info) {
    for (const auto& [name, value] : values) check(fmt::format("{}.{}", node, name), value, info);
  }
  static std::string expected(const NodeInfo& info, bool low) {
    constexpr double kUnlimited = 0x7fffff00;  // larger maxima only prevent overflow
    if (info.above)
      return fmt::format("above {} and {}", *info.above,
                         info.maximum ? fmt::format("at most {}", *info.maximum) : std::string("finite"));
    if (!info.minimum) return "finite numbers";
    if (!info.maximum || (low && *info.maximum > kUnlimited)) return fmt::format("{} or more", *info.minimum);
    return fmt::format("{} to {}", *info.minimum, *info.maximum);
  }

  Faults& faults_;
  std::string path_;
};

void check_mix(const PipelineSpec& spec) {
  if (spec.mix.empty()) return;
  if (spec.source != SourceSpec{})
    fail("source", "found together with mix; expected one of them. Set filter, take and split in each source of mix");
  const bool weighted = spec.mix[0].weight.has_value();
  double sum = 0;
  for (std::size_t i = 0; i < spec.mix.size(); ++i) {
    const std::string node = fmt::format("mix[{}]", i);
    if (spec.mix[i].weight.has_value() != weighted)
      fail(node + ".weight", "only some sources have a weight; expected one for all or for none");
    if ((spec.mix[i].labels == "none") != spec.declines_labels())
      fail(node + ".labels", "only some sources have labels: none; expected it for all or for none");
    const auto& earlier = spec.mix[i].earlier_weights;
    if (earlier.size() != spec.mix[0].earlier_weights.size())
      fail(node + ".earlier_weights", "{} weights; expected {} as in mix[0]", earlier.size(),
           spec.mix[0].earlier_weights.size());
    if (!weighted && !earlier.empty()) fail(node + ".earlier_weights", "found without mix[].weight; expected both");
    if (weighted) sum += *spec.mix[i].weight;
  }
  if (!weighted) return;
  if (sum == 0) fail("mix", "all weights are 0; expected at least one above 0");
  if (spec.order.balance) fail("order.balance", "true together with weights of mix; expected one of them");
  if (!spec.order.shuffle)
    fail("order.shuffle",
         "false with weights of mix, which draw samples in random order; expected true, or no weights");
}

void check_sources(const PipelineSpec& spec) {
  const OrderSpec& order = spec.order;
  check_mix(spec);
  if (order.rank >= order.world)
    fail("order.rank", "rank {} of world {}; expected 0 <= rank < world", order.rank, order.world);
  if (spec.source.weight) fail("source.weight", "found for a single source; expected weights only in mix");
  if (!spec.source.earlier_weights.empty())
    fail("source.earlier_weights", "found for a single source; expected weights only in mix");
  if (order.window > 0 && !order.shuffle)
    fail("order.window", "a window without shuffling; expected order.shuffle: true");
  if (!order.class_weights.empty() && !order.balance)
    fail("order.class_weights", "found without balancing; expected order.balance: true");
  if (!order.balance) return;
  if (!order.shuffle) fail("order.balance", "true without shuffling; expected order.shuffle: true");
  if (order.window > 0) fail("order.window", "a window together with order.balance; expected one of them");
}

void check_batch(const PipelineSpec& spec) {
  const PadSpec& pad = spec.batch.pad;
  if (pad.to == PadTo::kSize && (pad.size.width < 1 || pad.size.height < 1))
    fail("batch.pad.to", "size without batch.pad.size; expected [height, width] there");
  if (pad.to != PadTo::kSize && pad.size != Size{})
    fail("batch.pad.size", "found without batch.pad.to: size; expected only with it");
  const BucketSpec& bucket = spec.batch.bucket;
  if (bucket.window == 0) return;
  const std::uint64_t run =
      bucket.run > 0 ? bucket.run
                     : static_cast<std::uint64_t>(spec.batch.size) * static_cast<std::uint64_t>(spec.order.world);
  if (bucket.window < run)
    fail("batch.bucket.window", "{}; expected 0 or at least the {} samples of a {}", bucket.window, run,
         bucket.run > 0 ? "group (batch.bucket.run)" : "batch of all ranks");
  if (pad.to != PadTo::kLargest) fail("batch.bucket.window", "buckets without padding; expected batch.pad.to: largest");
  if (spec.execution.order == ExecutionOrder::kRelaxed)
    fail("batch.bucket.window",
         "relaxed order would mix samples of different buckets; expected execution.order: exact");
}

void check_device(const DeviceSpec& device) {
  if (!device.name.empty() && !is_device_name(device.name))
    fail("device.name", "\"{}\"; expected cpu, cuda or cuda:N", device.name);
  if (device.operations == OperationsOn::kDevice && device.name.empty())
    fail("device.operations", "device without device.name; expected cpu, cuda or cuda:N there");
  if (device.decode != DecodeOn::kHost && device.operations == OperationsOn::kHost)
    fail("device.decode",
         "{} with device.operations: host; expected device.operations: device, because images decoded on the device "
         "are cropped there",
         to_string(device.decode));
  if (device.decode_share && device.decode == DecodeOn::kHost)
    fail("device.decode_share",
         "{} with device.decode: host; expected no share, or device.decode: hybrid, gpu_hybrid or hardware",
         *device.decode_share);
}

// mean and std are for values of 0 to 1, which the larger numbers of the range 0 to 255 would make nearly constant.
void check_normalisation(const Normalisation& normalisation) {
  const auto too_large = [](const auto& values) {
    return std::any_of(values.begin(), values.end(), [](float value) { return std::isfinite(value) && value > 1; });
  };
  const auto shown = [](const auto& values, float divisor) {
    return fmt::format("({:.4g}, {:.4g}, {:.4g})", values[0] / divisor, values[1] / divisor, values[2] / divisor);
  };
  const auto& [mean, std] = normalisation;
  const bool both = too_large(mean) && too_large(std);
  if (!too_large(mean) && !too_large(std)) return;
  const auto& large = too_large(mean) ? mean : std;
  fail(too_large(mean) ? "output.mean" : "output.std",
       "mean ({:g}, {:g}, {:g}) and std ({:g}, {:g}, {:g}) are for pixel values of 0 to 255; expected values for 0 to "
       "1. Divide {} by 255: {}.",
       mean[0], mean[1], mean[2], std[0], std[1], std[2],
       both              ? "both"
       : too_large(mean) ? "mean"
                         : "std",
       both ? shown(mean, 255) + ", " + shown(std, 255) : shown(large, 255));
}

void check_cache(const CacheSpec& cache) {
  if (cache.what != CacheWhat::kEncoded) return;
  if (cache.after >= 0)
    fail("cache.after", "encoded records are cached before any operation; expected -1, or cache.what: pixels");
  if (!cache.folder.empty())
    fail("cache.folder", "encoded records are cached in memory; expected no folder, or cache.what: pixels");
}

// Constructs every operation for every epoch in which it changes. `make`: make_operation() or make_batch_operation().
template <class Make>
void check_operations(const char* node, const std::vector<OpSpec>& operations, const Make& make, Faults& faults) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    std::string in_epoch;
    try {
      check_schedules(operations[i]);
      (void)make(at_epoch(operations[i], 0));
      for (const std::uint32_t epoch : changing_epochs({&operations[i], 1})) {
        in_epoch = fmt::format(" in epoch {}", epoch);
        (void)make(at_epoch(operations[i], epoch));
      }
    } catch (const Error& error) {
      faults.collect([&] { fail(fmt::format("{}[{}]{}", node, i, in_epoch), "{}", error.what()); });
    }
  }
}

}  // namespace

void check_spec(const PipelineSpec& spec) {
  Faults faults(ErrorKind::kArgument);
  faults.collect([&] { check_normalisation(spec.output.normalisation); });
  const RangeChecks ranges(faults);
  visit_spec(ranges, spec);
  check_operations("operations", spec.operations, make_operation, faults);
  check_operations("batch_operations", spec.batch_operations, make_batch_operation, faults);
  faults.collect([&] { check_pass_switches(spec); });
  faults.throw_if_any();  // the following checks combine values, which are in their ranges
  faults.collect([&] { check_sources(spec); });
  faults.collect([&] { check_batch(spec); });
  faults.collect([&] { check_device(spec.device); });
  faults.collect([&] { check_cache(spec.cache); });
  faults.collect([&] {
    try {
      const Storer storer(spec.output);
    } catch (const Error& error) {
      fail("output", "{}", error.what());
    }
  });
  faults.throw_if_any();
}

std::optional<std::uint32_t> size_changes_from(const PipelineSpec& spec) {
  // An arbitrary size also detects operations that preserve sizes; the longest size meets every bound.
  constexpr Size kAny{1000, 777}, kLongest{65'500, 1};
  const auto output = [&](Size size, std::uint32_t epoch) -> Size {
    try {
      for (const OpSpec& operation : spec.operations)
        size = make_operation(at_epoch(operation, epoch))->output_size(size);
    } catch (const Error&) {
      return {};  // too large: such a sample fails when it is loaded
    }
    return size;
  };
  for (const std::uint32_t epoch : changing_epochs(spec.operations))
    if (output(kAny, epoch) != output(kAny, 0) || output(kLongest, epoch) != output(kLongest, 0)) return epoch;
  return std::nullopt;
}

}  // namespace unstarve
