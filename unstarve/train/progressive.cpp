#include "unstarve/train/progressive.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/ops/strength.h"

namespace unstarve {
namespace {

// Images up to this side length are thumbnails, whose sizes are finer.
constexpr int kThumbnailSide = 40;
constexpr int kThumbnailMultiple = 4, kMultiple = 32;
// Strengths and shares are multiples of 1 / 20.
constexpr double kSteps = 20;

// The progress within a ramp, from 0 to 1.
double within(const std::vector<double>& ramp, double progress) {
  if (progress >= ramp[1]) return 1;
  return progress <= ramp[0] ? 0 : (progress - ramp[0]) / (ramp[1] - ramp[0]);
}

double share_at(double initial, double x) {
  if (x == 0) return initial;
  return std::clamp(std::round((initial + x * (1 - initial)) * kSteps) / kSteps, initial, 1.0);
}

int size_at(const TrainSettings& settings, double x) {
  const ProgressiveSettings& p = settings.progressive;
  const int full = settings.image_size;
  if (p.image_size == 0 || x == 1) return full;
  if (x == 0) return p.image_size;
  const int multiple = p.multiple > 0 ? p.multiple : full <= kThumbnailSide ? kThumbnailMultiple : kMultiple;
  const double exact = p.image_size + x * (full - p.image_size);
  return std::clamp(static_cast<int>(std::lround(exact / multiple)) * multiple, p.image_size, full);
}

const EpochValues& values_in(std::span<const TrainPhase> phases, std::uint32_t epoch) {
  const auto after = std::upper_bound(phases.begin(), phases.end(), epoch,
                                      [](std::uint32_t e, const TrainPhase& phase) { return e < phase.epoch; });
  return std::prev(after)->values;
}

// The operations of every epoch, as schedules. `change` makes the operation of an epoch from that without schedules.
template <class Change>
std::vector<OpSpec> with_schedules(std::span<const OpSpec> operations, std::span<const TrainPhase> phases,
                                   Change&& change) {
  std::set<std::uint32_t> epochs{0};
  for (const TrainPhase& phase : phases) epochs.insert(phase.epoch);
  for (const std::uint32_t epoch : changing_epochs(operations)) epochs.insert(epoch);
  std::vector<OpSpec> result;
  for (const OpSpec& operation : operations) {
    OpSpec before, scheduled;
    for (const std::uint32_t epoch : epochs) {
      OpSpec now = change(at_epoch(operation, epoch), values_in(phases, epoch));
      if (epoch == 0) scheduled = now;
      for (const auto& [name, value] : now.params) {
        if (epoch == 0 || value == before.params.at(name)) continue;
        OpValue& all = scheduled.params.at(name);
        if (!all.scheduled()) {
          all.schedule.points[0] = std::move(all.numbers);
          all.numbers.clear();
        }
        all.schedule.points[epoch] = value.numbers;
      }
      before = std::move(now);
    }
    result.push_back(std::move(scheduled));
  }
  return result;
}

// Precondition: `operation` follows no schedule.
bool determines_scale(const OpSpec& operation) {
  return operation.params.contains("size") && make_operation(operation)->resamples();
}

// Scales the parameters in pixels of the result, which have the same names in all operations.
OpSpec scaled(OpSpec operation, double factor) {
  if (factor == 1) return operation;
  for (const char* const name : {"size", "max_size", "padding"}) {
    const auto value = operation.params.find(name);
    if (value == operation.params.end()) continue;
    for (double& number : value->second.numbers)
      if (number > 0) number = std::max(name == std::string_view("padding") ? 0.0 : 1.0, std::round(number * factor));
  }
  return operation;
}

}  // namespace

EpochValues values_at(const TrainSettings& settings, std::uint32_t epoch, std::uint32_t epochs) {
  const ProgressiveSettings& p = settings.progressive;
  const double progress = epochs > 1 ? static_cast<double>(epoch) / (epochs - 1) : 1;
  return {size_at(settings, within(p.image_size_ramp, progress)),
          share_at(p.augmentation, within(p.augmentation_ramp, progress)),
          share_at(p.samples, within(p.samples_ramp, progress))};
}

std::vector<TrainPhase> phases_of(const TrainSettings& settings, std::uint32_t epochs) {
  std::vector<TrainPhase> phases;
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    const EpochValues values = values_at(settings, epoch, epochs);
    if (phases.empty() || phases.back().values != values) phases.push_back({epoch, 0, values});
    ++phases.back().epochs;
  }
  return phases;
}

std::string epochs_text(const TrainPhase& phase) {
  if (phase.epochs == 1) return fmt::format("epoch {}", phase.epoch + 1);
  return fmt::format("epochs {} to {}", phase.epoch + 1, phase.epoch + phase.epochs);
}

std::string to_text(const TrainPhase& phase) {
  const EpochValues& values = phase.values;
  std::string text = fmt::format("{}: {} px", epochs_text(phase), values.image_size);
  if (values.augmentation < 1) text += fmt::format(", augmentation {:g}", values.augmentation);
  if (values.samples < 1) text += fmt::format(", {:g} % of the samples", 100 * values.samples);
  return text;
}

std::vector<OpSpec> progressive_operations(std::span<const OpSpec> operations, const EpochValues& full,
                                           std::span<const TrainPhase> phases) {
  const auto any = [&](auto differs) { return std::ranges::any_of(phases, differs); };
  const bool resizes = any([&](const TrainPhase& phase) { return phase.values.image_size != full.image_size; });
  const bool weakens = any([&](const TrainPhase& phase) { return phase.values.augmentation != full.augmentation; });
  std::vector<OpSpec> all(operations.begin(), operations.end());
  const bool appended = resizes && std::ranges::none_of(all, [](const OpSpec& operation) {
                          return determines_scale(at_epoch(operation, 0));
                        });
  if (appended) {
    const double side = full.image_size;
    all.push_back({"resize", {{"size", {side, side}}}});
  }
  return with_schedules(all, phases, [&](const OpSpec& operation, const EpochValues& values) {
    OpSpec changed = weakens ? at_strength(operation, values.augmentation) : operation;
    if (!resizes || (appended && !determines_scale(operation))) return changed;
    return scaled(std::move(changed), static_cast<double>(values.image_size) / full.image_size);
  });
}

std::vector<OpSpec> progressive_batch_operations(std::span<const OpSpec> operations,
                                                 std::span<const TrainPhase> phases) {
  return with_schedules(operations, phases, [](const OpSpec& operation, const EpochValues& values) {
    return at_strength(operation, values.augmentation);
  });
}

void check_sizes(std::span<const OpSpec> operations, std::span<const TrainPhase> phases, Size input) {
  for (const TrainPhase& phase : phases) {
    Size size = input;
    for (const OpSpec& operation : operations)
      size = make_operation(at_epoch(operation, phase.epoch))->output_size(size);
    const int side = phase.values.image_size;
    if (size != Size{side, side})
      throw Error(ErrorKind::kArgument,
                  fmt::format("train.progressive.image_size: the operations make images of {}x{} px in epoch {}; "
                              "expected {}x{}. Set train.image_size to the size that the operations make",
                              size.width, size.height, phase.epoch + 1, side, side));
  }
}

}  // namespace unstarve
