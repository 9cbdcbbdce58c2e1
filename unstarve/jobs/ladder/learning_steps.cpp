// Steps that only whole runs can judge, tried on request: they change what is learned, or the first epoch.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/jobs/ladder/candidates.h"
#include "unstarve/train/resident_source.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {
namespace {

// Only the accuracy of whole runs shows whether they help.
std::string not_requested(const LadderContext& context, std::string_view word,
                          std::string_view why = "changes what the network learns") {
  if (!context.has_network()) return kNoNetwork;
  if (std::ranges::find(context.tried, word) != context.tried.end()) return "";
  return fmt::format("{}; --try {} --val DATA compares the time to an accuracy", why, word);
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

// Wrong answers with high confidence cost less: steadier training of noisy labels.
constexpr std::string_view kTrySmoothing = "smoothing";
constexpr double kSmoothing = 0.1;  // Szegedy et al., arXiv:1512.00567

std::string no_smoothing(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTrySmoothing); !reason.empty()) return reason;
  return current.train.label_smoothing > 0 ? fmt::format("already {}", current.train.label_smoothing) : "";
}

Candidates smoothing(const LadderContext&, const Settings& current) {
  return edited(current, fmt::format("no label smoothing -> {}", kSmoothing),
                [](Settings& s) { s.train.label_smoothing = kSmoothing; });
}

// The weights move towards their slow average every few updates.
constexpr std::string_view kTryLookahead = "lookahead";
constexpr int kLookaheadUpdates = 5;  // Zhang et al., arXiv:1907.08610

std::string no_lookahead(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTryLookahead); !reason.empty()) return reason;
  const int every = current.train.lookahead.every;
  return every > 0 ? fmt::format("already every {} updates", every) : "";
}

Candidates lookahead(const LadderContext&, const Settings& current) {
  return edited(current, fmt::format("no lookahead -> every {} updates", kLookaheadUpdates),
                [](Settings& s) { s.train.lookahead.every = kLookaheadUpdates; });
}

// Decoded images stay on the device, which makes the batches: nothing is loaded after the first epoch.
constexpr std::string_view kTryResident = "resident";

std::string no_residence(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTryResident, "the first epoch is slower"); !reason.empty())
    return reason;
  if (current.train.resident != Residence::kOff) return "already on the device";
  if (current.train.progressive.image_size > 0 || current.train.progressive.augmentation < 1)
    return "image size or augmentation changes during the run";
  return why_not_resident(current.pipeline);
}

Candidates residence(const LadderContext&, const Settings& current) {
  return edited(current, "images are loaded -> stay on the device",
                [](Settings& s) { s.train.resident = Residence::kOn; });
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

const LadderStep kSmoothingStep{.name = "label smoothing",
                                .affects_learning = true,
                                .not_applicable = no_smoothing,
                                .candidates = smoothing,
                                .copy = copy_member<&Settings::train, &TrainSettings::label_smoothing>,
                                .tried_by = kTrySmoothing};

const LadderStep kLookaheadStep{.name = "lookahead",
                                .affects_learning = true,
                                .not_applicable = no_lookahead,
                                .candidates = lookahead,
                                .copy = copy_member<&Settings::train, &TrainSettings::lookahead>,
                                .tried_by = kTryLookahead};

const LadderStep kResidentStep{.name = "images on the device",
                               .not_applicable = no_residence,
                               .candidates = residence,
                               .copy = copy_member<&Settings::train, &TrainSettings::resident>,
                               .tried_by = kTryResident};

}  // namespace unstarve
