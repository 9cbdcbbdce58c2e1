#include "unstarve/observe/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

// If threads are ready to use more than this share of the cores, the number of threads is not the limit.
constexpr double kReadyShare = 0.85;
// Rounding errors of a rate that is exactly sufficient.
constexpr double kRounding = 1e-9;

// The model of the header, from the figures of a run.
struct RateModel {
  double cpu_s = 0;    // per sample
  double storage = 0;  // samples/s; infinite if not measured
  double efficiency = 0;

  [[nodiscard]] double bound(double cores, double faster) const { return std::min(cores / cpu_s, storage * faster); }
  [[nodiscard]] double rate(double cores, double faster) const { return efficiency * bound(cores, faster); }
  [[nodiscard]] std::string text(const std::string& cores, double faster) const {
    if (std::isinf(storage)) return fmt::format("{:.2f} x {} / {:.3g} ms", efficiency, cores, 1e3 * cpu_s);
    return fmt::format("{:.2f} x min({} / {:.3g} ms, storage {})", efficiency, cores, 1e3 * cpu_s,
                       format_rate(storage * faster));
  }
};

bool measured(const BenchFigures& figures) {
  return figures.loader > 0 && figures.loader_cores > 0 && figures.usable_cores > 0;
}

// Precondition: measured().
RateModel model_of(const BenchFigures& figures) {
  RateModel model;
  model.cpu_s = figures.loader_cores / figures.loader;
  model.storage = figures.storage > 0 ? figures.storage : std::numeric_limits<double>::infinity();
  model.efficiency = std::min(1.0, figures.loader / model.bound(figures.usable_cores, 1));
  return model;
}

std::string samples_text(double rate) { return format_rate(rate) + " samples/s"; }

}  // namespace

int estimate_accelerators(double samples_per_s, const CapacityDemand& demand) {
  const double one = demand.samples_per_s();
  if (!(samples_per_s > 0) || !(one > 0)) return 0;
  return static_cast<int>(std::min(std::floor(samples_per_s / one + kRounding), 1e6));
}

CapacitySearch search_capacity(int estimate, int most, double minimum, const std::function<double(int)>& measure) {
  CapacitySearch search;
  const auto enough = [&](int number) {
    const double utilisation = measure(number);
    search.utilisation[number] = utilisation;
    return utilisation >= minimum;
  };
  int fed = 0, too_many = most + 1;  // the bounds of what is not known yet
  int number = std::clamp(estimate, 1, most);
  bool grows = false, shrinks = false;
  for (int distance = 1; fed + 1 < too_many; distance *= 2) {
    if (enough(number)) {
      fed = number;
      grows = true;
    } else {
      too_many = number;
      shrinks = true;
    }
    if (grows && shrinks)
      number = fed + (too_many - fed) / 2;
    else
      number = grows ? std::min(number + distance, most) : std::max(number - distance, 1);
  }
  search.fed = fed;
  return search;
}

CapacityVerdict judge_capacity(const BenchFigures& figures, const CapacityDemand& demand, int fed, int most) {
  if (!(figures.loader > 0)) return {CapacityLimit::kUnknown, "unknown: the loader was not measured"};
  if (fed == most) return {CapacityLimit::kUnknown, "unknown: it was not reached"};
  BenchFigures next = figures;
  next.network = (fed + 1) * demand.samples_per_s();
  next.copy = next.together = 0;
  const Bottleneck bottleneck = judge_bench(next).bottleneck;
  const std::string others = other_users(figures), stops = quota_stops(figures);
  if (!others.empty() && (bottleneck != Bottleneck::kLoader || !cores_are_busy(figures)))
    return {CapacityLimit::kOthers, others + " while this was measured; repeat this on an idle machine"};
  if (!stops.empty())
    return {CapacityLimit::kQuota,
            "the CPU quota: " + stops + "; raise the quota, or stop the other processes of the container"};
  if (bottleneck == Bottleneck::kStorage) {
    return {CapacityLimit::kStorage, fmt::format("the storage: reading alone reaches {}, the loader {}",
                                                 samples_text(figures.storage), samples_text(figures.loader))};
  }
  const StageShare stage = largest_stage(figures.stages);
  const std::string cores = fmt::format("{:.1f} of {} cores are busy", figures.loader_cores, figures.usable_cores);
  const double ready = figures.loader_cores + figures.delayed_cores;
  if (!cores_are_busy(figures) && figures.delayed_cores > 0 && ready >= kReadyShare * figures.usable_cores) {
    return {CapacityLimit::kOthers,
            fmt::format("other programs: {}, and threads of the loader were ready to use {:.1f} more; repeat this on "
                        "an idle machine",
                        cores, figures.delayed_cores)};
  }
  if (bottleneck == Bottleneck::kNetwork) {
    return {CapacityLimit::kVariation,
            fmt::format("the variation of the loader: {} would be sufficient for {}, but batches arrive irregularly",
                        samples_text(figures.loader), fed + 1)};
  }
  const std::string share =
      stage.name.empty() ? "" : fmt::format("{} takes {:.0f} % of the loader's time, ", stage.name, 100 * stage.share);
  if (cores_are_busy(figures)) {
    const std::string disturbed = others.empty() ? "" : "; " + others + " meanwhile, so rates may be too low";
    return {CapacityLimit::kCpu, "the CPU: " + share + cores + disturbed};
  }
  return {CapacityLimit::kThreads, "the number of worker threads: " + share + "only " + cores + "; use more threads"};
}

std::vector<WhatIf> what_if(const BenchFigures& figures, const CapacityDemand& demand) {
  if (!measured(figures)) return {};
  const RateModel model = model_of(figures);
  const int cores = figures.usable_cores;
  std::vector<WhatIf> all;
  const auto add = [&](std::string change, int with, double faster) {
    const double rate = model.rate(with, faster);
    all.push_back(
        {std::move(change), rate, estimate_accelerators(rate, demand), model.text(fmt::format("{}", with), faster)});
  };
  add(fmt::format("{} cores", 2 * cores), 2 * cores, 1);
  add(fmt::format("{} cores", 4 * cores), 4 * cores, 1);
  if (std::isinf(model.storage)) return all;
  add("storage of twice the rate", cores, 2);
  add(fmt::format("{} cores, storage of twice the rate", 2 * cores), 2 * cores, 2);
  return all;
}

std::string model_text(const BenchFigures& figures) {
  return measured(figures) ? "samples/s = " + model_of(figures).text("cores", 1) : "";
}

std::string cores_needed(const BenchFigures& figures, const CapacityDemand& demand, int accelerators) {
  if (!measured(figures)) return "";
  const RateModel model = model_of(figures);
  const double rate = accelerators * demand.samples_per_s() / model.efficiency;
  const double cores = rate * model.cpu_s;
  std::string text = fmt::format("{} x {} samples/s x {:.3g} ms of CPU time{} = {:.1f} cores ({} usable)", accelerators,
                                 format_rate(demand.samples_per_s()), 1e3 * model.cpu_s,
                                 model.efficiency < 1 - kRounding ? fmt::format(" / {:.2f}", model.efficiency) : "",
                                 cores, figures.usable_cores);
  if (rate > model.storage) text += fmt::format("; storage delivers only {}", samples_text(model.storage));
  return text;
}

}  // namespace unstarve
