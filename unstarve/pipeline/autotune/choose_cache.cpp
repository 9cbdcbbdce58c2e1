#include "unstarve/pipeline/autotune/choose_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace unstarve::autotune {
namespace {

struct Candidate {
  CacheTier tier;
  std::string name;
  CacheCost cost;
  double budget;
  int after = -1;
};

CacheChoice evaluate(const Candidate& candidate, const CacheProfile& profile, double repeated) {
  CacheChoice choice;
  choice.tier = candidate.tier;
  choice.after = candidate.after;
  const double needed = profile.samples * candidate.cost.bytes_per_sample;
  choice.bytes = std::min(needed, candidate.budget);
  choice.held = choice.bytes / needed;
  choice.hits = choice.held * repeated;
  const CacheCost& cost = candidate.cost;
  const double kept = choice.held * (1 - repeated);
  const double sample_s = choice.hits * cost.hit_s + (1 - choice.hits) * cost.miss_s + kept * cost.store_s;
  choice.gain = (profile.sample_s - sample_s) / profile.sample_s;
  return choice;
}

std::string sample_time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.3g} us", seconds * 1e6) : fmt::format("{:.3g} ms", seconds * 1e3);
}

std::string describe(const Candidate& candidate, const CacheChoice& choice) {
  std::string text = fmt::format("{}: {} per hit", candidate.name, sample_time_text(candidate.cost.hit_s));
  if (choice.held < 1)
    text += fmt::format(", {} per miss, {:.0f} MB hold {:.2g} % of the samples",
                        sample_time_text(candidate.cost.miss_s), choice.bytes / 1e6, choice.held * 100);
  return text + fmt::format(", saves {:.2g} %", choice.gain * 100);
}

}  // namespace

double repeated_share(double samples, double epoch_samples, int epochs) {
  if (epochs <= 0) return 1;
  if (samples <= 0 || epoch_samples <= 0) return 0;
  // An epoch shorter than the dataset draws a random subset.
  const double missed = 1 - std::min(1.0, epoch_samples / samples);
  const double met = samples * (1 - std::pow(missed, epochs));
  return std::max(0.0, 1 - met / (epochs * epoch_samples));
}

CacheChoice choose_cache(const CacheProfile& profile) {
  CacheChoice none;
  const double repeated = repeated_share(profile.samples, profile.epoch_samples, profile.epochs);
  if (repeated <= 0 || !(profile.sample_s > 0) || !(profile.samples > 0)) {
    none.reason = repeated <= 0 ? "no sample is used twice" : "no sample was measured";
    return none;
  }
  // By increasing memory.
  std::vector<Candidate> candidates{{CacheTier::kEncoded, "encoded records", profile.encoded, profile.memory_bytes}};
  const auto add_pixels = [&](CacheTier tier, const std::string& name, double budget) {
    for (const PixelCacheCost& earlier : profile.earlier)
      candidates.push_back({tier,
                            fmt::format("{} after {} operation{}", name, earlier.after, earlier.after == 1 ? "" : "s"),
                            earlier.cost, budget, earlier.after});
    candidates.push_back({tier, name, profile.pixels, budget});
  };
  add_pixels(CacheTier::kFile, "pixels in a file", profile.file_bytes);
  add_pixels(CacheTier::kPixels, "pixels", profile.memory_bytes);
  std::string tried;
  std::vector<CacheChoice> choices(candidates.size());
  double best_gain = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].budget <= 0 || candidates[i].cost.bytes_per_sample <= 0) continue;
    choices[i] = evaluate(candidates[i], profile, repeated);
    best_gain = std::max(best_gain, choices[i].gain);
    tried += (tried.empty() ? "" : "; ") + describe(candidates[i], choices[i]);
  }
  CacheChoice chosen;
  if (best_gain >= kMinGain)
    chosen = *std::find_if(choices.begin(), choices.end(), [&](const CacheChoice& choice) {
      return choice.tier != CacheTier::kNone && choice.gain >= std::max(kMinGain, best_gain - kEqualGain);
    });
  chosen.reason = fmt::format("{} per sample without a cache", sample_time_text(profile.sample_s));
  if (profile.epochs > 0)
    chosen.reason += fmt::format(". Repeated uses of samples in {} epochs: {:.3g} %", profile.epochs, repeated * 100);
  chosen.reason += tried.empty() ? ". No cache fits the budgets" : ". Candidates: " + tried;
  if (chosen.tier == CacheTier::kNone && !tried.empty())
    chosen.reason += fmt::format(". None is used: a gain below {:.0f} % does not justify the memory", kMinGain * 100);
  return chosen;
}

}  // namespace unstarve::autotune
