#include "unstarve/pipeline/spec/check_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/spec/pass_switches.h"
#include "unstarve/pipeline/spec/spec_checks.h"

namespace unstarve {
namespace {

// An error of an operation in an epoch after 0.
struct EpochError : Error {
  EpochError(const Error& error, std::uint32_t in) : Error(error), epoch(in) {}
  std::uint32_t epoch;
};

// Constructs the operation for every epoch in which it changes. `make`: make_operation() or make_batch_operation().
template <class Make>
void check_operation(const OpSpec& operation, const Make& make) {
  check_schedules(operation);
  (void)make(at_epoch(operation, 0));
  for (const std::uint32_t epoch : changing_epochs({&operation, 1})) {
    try {
      (void)make(at_epoch(operation, epoch));
    } catch (const Error& error) {
      throw EpochError(error, epoch);
    }
  }
}

}  // namespace

void check_spec(const PipelineSpec& spec) {
  const auto fail = [](const std::string& node, const std::string& what) {
    throw Error(ErrorKind::kArgument, node + ": " + what);
  };
  const auto within = [&](const char* node, int value, int low, int high) {
    if (value < low || value > high) fail(node, fmt::format("{}, expected {} to {}", value, low, high));
  };
  within("execution.threads", spec.execution.threads, 0, 1024);
  within("execution.prefetch", spec.execution.prefetch, 0, 1024);
  within("execution.read_ahead", spec.execution.read_ahead, -1, 1024);
  constexpr std::uint64_t kMostMb = std::uint64_t{1} << 40;
  if (spec.execution.memory_limit_mb > kMostMb)
    fail("execution.memory_limit_mb", fmt::format("{}, expected 0 to {}", spec.execution.memory_limit_mb, kMostMb));
  within("decode.max_pixels", spec.decode.max_pixels, 1, static_cast<int>(kMaxPixels));
  within("execution.cpu_limit", spec.execution.cpu_limit, 0, 1024);
  check_batch(spec);
  check_device(spec.device);
  if (spec.order.world < 1) fail("order.world", fmt::format("{}, expected 1 or more", spec.order.world));
  check_sources(spec);
  check_pass_switches(spec);
  if (spec.order.rank < 0 || spec.order.rank >= spec.order.world)
    fail("order.rank",
         fmt::format("rank {} of world {}, expected 0 <= rank < world", spec.order.rank, spec.order.world));
  if (!(spec.errors.rate > 0 && spec.errors.rate <= 1))
    fail("errors.rate", fmt::format("{}, expected above 0 and at most 1", spec.errors.rate));
  const CacheSpec& cache = spec.cache;
  if (cache.what != CacheWhat::kNothing && (cache.limit_mb == 0 || cache.limit_mb > kMostMb))
    fail("cache.limit_mb", fmt::format("{}, expected 1 or more", cache.limit_mb));
  within("cache.after", cache.after, -1, 1024);
  if (cache.what == CacheWhat::kEncoded && cache.after >= 0)
    fail("cache.after", "encoded records are cached before any operation; expected -1, or cache.what: pixels");
  if (cache.what == CacheWhat::kEncoded && !cache.folder.empty())
    fail("cache.folder", "encoded records are cached in memory; expected no folder, or cache.what: pixels");
  const auto each = [&](const char* node, const std::vector<OpSpec>& operations, const auto& make) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      try {
        check_operation(operations[i], make);
      } catch (const EpochError& error) {
        fail(fmt::format("{}[{}] in epoch {}", node, i, error.epoch), error.what());
      } catch (const Error& error) {
        fail(fmt::format("{}[{}]", node, i), error.what());
      }
    }
  };
  each("operations", spec.operations, make_operation);
  each("batch_operations", spec.batch_operations, make_batch_operation);
  for (const float mean : spec.output.normalisation.mean)
    if (!std::isfinite(mean)) fail("output.mean", fmt::format("{}, expected finite numbers", mean));
  for (const float deviation : spec.output.normalisation.std)
    if (!(deviation > 0 && std::isfinite(deviation)))
      fail("output.std", fmt::format("{}, expected above 0 and finite", deviation));
  try {
    const Storer storer(spec.output);
  } catch (const Error& error) {
    fail("output", error.what());
  }
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
