#include "unstarve/train/pruning.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr int kLargestGroup = 64;
constexpr std::int64_t kMostSteps = 100;  // between two choices, as in published runs
constexpr double kChoices = 20;           // in a short ramp

// False unless all of `text` is a number.
bool read_whole(std::string_view text, int& number) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && end == text.data() + text.size();
}

}  // namespace

PrunePattern pattern_of(const PruneSettings& settings) {
  if (!settings.has_pattern()) return {};
  if (settings.channels()) {
    if (settings.sparsity > 0) return {};
    throw Error(ErrorKind::kArgument,
                "found channels without a share; expected the share of the multiply-adds to remove. Pass --prune, for "
                "example --prune 0.5");
  }
  const std::string_view text = settings.pattern;
  const std::size_t colon = text.find(':');
  PrunePattern pattern;
  const bool read = colon != std::string_view::npos && read_whole(text.substr(0, colon), pattern.keep) &&
                    read_whole(text.substr(colon + 1), pattern.of);
  if (!read || pattern.keep < 1 || pattern.keep >= pattern.of || pattern.of > kLargestGroup)
    throw Error(
        ErrorKind::kArgument,
        fmt::format(
            "found \"{}\"; expected any, channels, or N:M with N from 1 to M - 1 and M up to {}, such as 2:4, 1:2 "
            "or 4:8",
            text, kLargestGroup));
  const double sparsity = 1 - static_cast<double>(pattern.keep) / pattern.of;
  if (settings.sparsity > 0 && std::abs(settings.sparsity - sparsity) > 1e-3)
    throw Error(ErrorKind::kArgument,
                fmt::format("found {} with the sparsity {}; expected {:.4g}, which follows from the pattern, or no "
                            "sparsity",
                            text, settings.sparsity, sparsity));
  return pattern;
}

void check_pattern(const PruneSettings& settings) { (void)pattern_of(settings); }

double final_sparsity(const PruneSettings& settings) {
  const PrunePattern pattern = pattern_of(settings);
  return pattern.any_weights() ? settings.sparsity : 1 - static_cast<double>(pattern.keep) / pattern.of;
}

double sparsity_at(const PruneSettings& settings, double share) {
  const double begin = settings.sparsity_ramp.front(), end = settings.sparsity_ramp.back();
  if (share >= end) return final_sparsity(settings);
  if (share <= begin) return 0;
  return final_sparsity(settings) * (1 - std::pow(1 - (share - begin) / (end - begin), 3));
}

std::int64_t pruned_count(std::int64_t weights, double sparsity) {
  return std::llround(static_cast<double>(weights) * sparsity);
}

std::string to_text(const PruneSettings& settings) {
  if (!settings.any()) return "none";
  const std::string what = settings.has_pattern() ? settings.pattern : fmt::format("{}", settings.sparsity);
  return fmt::format("{} between {} and {} of the run{}", what, settings.sparsity_ramp.front(),
                     settings.sparsity_ramp.back(),
                     settings.every > 0 ? fmt::format(", every {} steps", settings.every) : "");
}

bool choice_due(const PruneSettings& settings, const PruneUpdate& update) {
  const double begin = settings.sparsity_ramp.front(), end = settings.sparsity_ramp.back();
  if (update.share >= end) return true;
  if (update.share <= begin) return false;
  std::int64_t every = settings.every;
  if (every == 0) {
    const double total = static_cast<double>(update.step) / update.share;
    every = std::clamp<std::int64_t>(std::llround(total * (end - begin) / kChoices), 1, kMostSteps);
  }
  return update.step / every != update.before / every;
}

std::int64_t PruneResult::weights() const {
  std::int64_t sum = 0;
  for (const PrunedLayer& layer : layers) sum += layer.weights;
  return sum;
}

std::int64_t PruneResult::zeros() const {
  std::int64_t sum = 0;
  for (const PrunedLayer& layer : layers) sum += layer.zeros;
  return sum;
}

}  // namespace unstarve
