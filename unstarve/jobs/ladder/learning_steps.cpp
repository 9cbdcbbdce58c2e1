// Steps that change what is learned, tried on request.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/jobs/ladder/candidates.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {
namespace {

// Only the accuracy of whole runs shows whether they help.
std::string not_requested(const LadderContext& context, std::string_view word) {
  if (!context.has_network()) return kNoNetwork;
  if (std::ranges::find(context.tried, word) != context.tried.end()) return "";
  return fmt::format("changes what the network learns; --try {} --val DATA compares the time to an accuracy", word);
}

// Fewer updates per sample, at the memory of the small batch.
constexpr std::string_view kTryAccumulate = "accumulate";

std::string no_accumulation(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTryAccumulate); !reason.empty()) return reason;
  const std::int64_t update = std::int64_t{2} * current.train.accumulate * current.pipeline.batch.size;
  if (static_cast<std::uint64_t>(update) * kBatchesPerEpoch <= context.samples) return "";
  return fmt::format("{} samples are fewer than {} updates of {} per epoch", context.samples, kBatchesPerEpoch, update);
}

Candidates accumulation(const LadderContext&, const Settings& current) {
  const int now = current.train.accumulate;
  return edited(current, fmt::format("{} -> {} batches per update", now, 2 * now), [&](Settings& s) {
    s.train.accumulate = 2 * now;
    s.train.learning_rate = scaled_rate(s.train.learning_rate, 1, 2, scaling_rule(s.train.optimiser.name));
  });
}

void copy_accumulation(const Settings& from, Settings& to) {
  to.train.accumulate = from.train.accumulate;
  to.train.learning_rate = from.train.learning_rate;
}

// Evaluation with the mean of the weights over about half an epoch, which is more accurate than the latest ones.
constexpr std::string_view kTryAverage = "average";

std::string no_average(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTryAverage); !reason.empty()) return reason;
  return current.train.average > 0 ? fmt::format("already {}", current.train.average) : "";
}

Candidates average(const LadderContext& context, const Settings& current) {
  const double per_update = static_cast<double>(current.train.accumulate) * current.pipeline.batch.size;
  const double updates = static_cast<double>(context.samples) / per_update / 2;
  const double decay = std::clamp(std::round((1 - 1 / std::max(updates, 1.0)) * 1e4) / 1e4, 0.9, 0.9999);
  return edited(current, fmt::format("no average -> decay {}", decay), [&](Settings& s) { s.train.average = decay; });
}

// Smaller images in the first epochs, at 0.72 times the full side length as in ffcv-imagenet.
constexpr std::string_view kTryProgressive = "progressive";

int first_side(int full) {
  const int multiple = full > 40 ? 32 : 4;
  return static_cast<int>(std::lround(0.72 * full / multiple)) * multiple;
}

std::string no_progressive(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTryProgressive); !reason.empty()) return reason;
  const int full = current.train.image_size;
  if (current.train.progressive.any()) return "already progressive";
  return first_side(full) >= kLeastSide && first_side(full) < full ? ""
                                                                   : fmt::format("images of {} px are small", full);
}

Candidates progressive(const LadderContext&, const Settings& current) {
  const int full = current.train.image_size, first = first_side(full);
  return edited(current, fmt::format("images of {} px -> {} px in the first epochs", full, first),
                [&](Settings& s) { s.train.progressive.image_size = first; });
}

}  // namespace

const LadderStep kAccumulationStep{.name = "gradient accumulation",
                                   .affects_learning = true,
                                   .not_applicable = no_accumulation,
                                   .candidates = accumulation,
                                   .copy = copy_accumulation,
                                   .tried_by = kTryAccumulate};

const LadderStep kAverageStep{.name = "average of the weights (EMA)",
                              .affects_learning = true,
                              .not_applicable = no_average,
                              .candidates = average,
                              .copy = copy_member<&Settings::train, &TrainSettings::average>,
                              .tried_by = kTryAverage};

const LadderStep kProgressiveStep{.name = "progressive image size",
                                  .affects_learning = true,
                                  .not_applicable = no_progressive,
                                  .candidates = progressive,
                                  .copy = copy_member<&Settings::train, &TrainSettings::progressive>,
                                  .tried_by = kTryProgressive};

}  // namespace unstarve
