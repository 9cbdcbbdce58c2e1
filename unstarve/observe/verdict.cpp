#include "unstarve/observe/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

// An overlap below this is more than imperfect overlap: the parts slow each other down.
constexpr double kContentionOverlap = 0.85;
// If the loader reaches this share of the rate of reading alone while cores are idle, storage is its limit.
constexpr double kStorageShare = 0.7;
// If more than this share of the usable cores is busy, the loader is limited by computation.
constexpr double kCoresBusy = 0.85;
// If the joint rate is this close to that of sequential execution, nothing overlaps.
constexpr double kSerialMargin = 1.08;
// If the consumer waits less, the parts do not run one after the other.
constexpr double kSerialWait = 0.05;
// All together cannot be faster than a part alone. Above this ratio the rates were measured on a changing machine.
constexpr double kContradiction = 1.1;
// Loader and network with rates this close to each other were measured as equal: what the consumer waited decides.
constexpr double kEqual = 1.15;
// Shares of the cores at which other programs, or other virtual machines, change the figures.
constexpr double kOthers = 0.1, kStolen = 0.05;
// Of the periods of a CPU quota: a few are exceeded by any program.
constexpr double kThrottled = 0.05;

bool known(double rate) { return std::isfinite(rate) && rate > 0; }
double or_infinite(double rate) { return known(rate) ? rate : std::numeric_limits<double>::infinity(); }
double or_zero(double value) { return known(value) ? value : 0; }

std::string rate_text(double rate) { return format_rate(rate) + " samples/s"; }

std::string cores_text(double cores) {
  const double whole = std::ceil(cores - 1e-9);
  return fmt::format("{:.0f} {}", whole, whole <= 1 ? "core" : "cores");
}

// Rate of the loader per busy core, or per usable core if busy cores were not counted; 0 if neither is known.
double rate_per_core(const BenchFigures& f) {
  const double cores = known(f.loader_cores) ? f.loader_cores : static_cast<double>(f.usable_cores);
  return known(f.loader) && cores > 0 ? f.loader / cores : 0;
}

bool limited_by_storage(const BenchFigures& f) {
  return known(f.storage) && f.loader >= kStorageShare * f.storage && !cores_are_busy(f);
}

std::string network_sentence(const BenchFigures& f) {
  std::string text = "the network is the bottleneck";
  if (!known(f.loader)) return text + fmt::format(" at {}; the loader was not measured", rate_text(f.network));
  text += fmt::format("; the loader can feed {:.1f} such devices", f.loader / f.network);
  const double per_core = rate_per_core(f);
  if (per_core > 0 && f.usable_cores > 1) {
    const double enough = std::max(1.0, std::ceil(f.network / per_core - 1e-9));
    if (enough < f.usable_cores) {
      text += fmt::format(", and {} of {} would be enough for one", cores_text(enough), f.usable_cores);
    }
  }
  return text;
}

std::string loader_sentence(const BenchFigures& f, double next) {
  std::string text = "the loader is the bottleneck";
  const StageShare stage = largest_stage(f.stages);
  if (!stage.name.empty()) text += fmt::format(": {} takes {:.0f} % of its time", stage.name, stage.share * 100);
  if (std::isinf(next)) return text + fmt::format(" at {}; no device was measured", rate_text(f.loader));
  text += fmt::format("; it can feed {:.2f} such devices", f.loader / next);
  const double per_core = rate_per_core(f);
  if (per_core > 0) {
    text += fmt::format(", and about {} would be needed for one", cores_text(next / per_core));
    if (f.usable_cores > 0) text += fmt::format(" ({} usable)", f.usable_cores);
    if (known(f.loader_cores) && f.usable_cores > 0 && !cores_are_busy(f)) {
      text += fmt::format("; only {:.1f} are busy", f.loader_cores);
      if (other_users(f).empty() && quota_stops(f).empty()) text += ": increase the number of worker threads";
    }
  }
  return text;
}

std::string storage_sentence(const BenchFigures& f, double next) {
  std::string text = fmt::format("the storage is the bottleneck: reading alone reaches {}, the loader {}",
                                 rate_text(f.storage), rate_text(f.loader));
  if (known(f.loader_cores) && f.usable_cores > 0) {
    text += fmt::format(" with {:.1f} of {} cores busy", f.loader_cores, f.usable_cores);
  }
  if (std::isinf(next)) return text;
  return text + fmt::format("; it can feed {:.2f} such devices: increase read_ahead, pack the files, or cache them",
                            f.loader / next);
}

std::string copy_sentence(const BenchFigures& f) {
  std::string text = fmt::format("the copy to the device is the bottleneck at {}", rate_text(f.copy));
  if (known(f.network)) text += fmt::format(", {} of the network's rate", format_percent(f.copy / f.network));
  return text + "; send uint8 pixels and use pinned memory";
}

std::string contention_sentence(const BenchFigures& f, double slowest, double serial, double overlap) {
  std::string text = fmt::format(
      "the parts slow each other down: together they reach {}, which is {} of the slowest "
      "part alone ({})",
      rate_text(f.together), format_percent(overlap), format_rate(slowest));
  if (f.together <= serial * kSerialMargin && f.data_wait >= kSerialWait) {
    text += "; they run one after the other: enable prefetch, or give each part its own cores";
  } else {
    text += "; they compete for cores or memory: try fewer worker threads";
  }
  if (!known(f.data_wait)) return text;
  return text + fmt::format(" ({} of the time is spent waiting for data)", format_percent(f.data_wait));
}

// As if no other program had run.
BenchVerdict judge_quiet(const BenchFigures& figures) {
  const double loader = or_infinite(figures.loader);
  const double copy = or_infinite(figures.copy);
  const double network = or_infinite(figures.network);
  const double slowest = std::min({loader, copy, network});

  BenchVerdict verdict;
  if (std::isinf(slowest)) {
    verdict.sentence = known(figures.storage)
                           ? fmt::format("only the storage was measured: {}", rate_text(figures.storage))
                           : "nothing was measured";
    return verdict;
  }
  if (known(figures.together)) {
    verdict.overlap = figures.together / slowest;
    const double serial = 1 / (1 / loader + 1 / copy + 1 / network);
    const bool several = serial < slowest;
    if (several && verdict.overlap < kContentionOverlap) {
      verdict.bottleneck = Bottleneck::kContention;
      verdict.sentence = contention_sentence(figures, slowest, serial, verdict.overlap);
      return verdict;
    }
  }
  const bool equal = known(figures.together) && std::max(loader, network) <= kEqual * std::min(loader, network);
  const bool waits = or_zero(figures.data_wait) >= kSerialWait;
  if (equal ? copy > slowest && !waits : network <= slowest) {
    verdict.bottleneck = Bottleneck::kNetwork;
    verdict.sentence = network_sentence(figures);
  } else if (copy <= slowest) {
    verdict.bottleneck = Bottleneck::kCopy;
    verdict.sentence = copy_sentence(figures);
  } else if (limited_by_storage(figures)) {
    verdict.bottleneck = Bottleneck::kStorage;
    verdict.sentence = storage_sentence(figures, std::min(copy, network));
  } else {
    verdict.bottleneck = Bottleneck::kLoader;
    verdict.sentence = loader_sentence(figures, std::min(copy, network));
  }
  return verdict;
}

}  // namespace

bool contradicts(const BenchFigures& figures) {
  const double slowest =
      std::min({or_infinite(figures.loader), or_infinite(figures.copy), or_infinite(figures.network)});
  return known(figures.together) && std::isfinite(slowest) && figures.together > kContradiction * slowest;
}

StageShare largest_stage(const std::vector<StageProfile>& stages) {
  std::int64_t total = 0;
  const StageProfile* largest = nullptr;
  for (const StageProfile& stage : stages) {
    if (stage.name == "wait" || stage.busy_ns <= 0) continue;
    total += stage.busy_ns;
    if (largest == nullptr || stage.busy_ns > largest->busy_ns) largest = &stage;
  }
  if (largest == nullptr) return {};
  return {printable(largest->name), static_cast<double>(largest->busy_ns) / static_cast<double>(total)};
}

bool cores_are_busy(const BenchFigures& f) {
  return f.usable_cores > 0 && or_zero(f.loader_cores) >= kCoresBusy * f.usable_cores;
}

std::string other_users(const BenchFigures& f) {
  if (or_zero(f.stolen_share) >= kStolen)
    return fmt::format("the hypervisor took {} of the cores' time", format_percent(f.stolen_share));
  const double taken = or_zero(f.other_cores) - or_zero(f.free_cores);
  if (f.usable_cores <= 0 || taken < kOthers * f.usable_cores) return {};
  return fmt::format("other programs used {:.1f} of {:.0f} cores", f.other_cores,
                     f.usable_cores + or_zero(f.free_cores));
}

std::string quota_stops(const BenchFigures& f) {
  if (or_zero(f.throttled_share) < kThrottled || cores_are_busy(f)) return {};
  return fmt::format("the CPU quota stopped threads in {:.0f} % of its periods", 100 * f.throttled_share);
}

BenchVerdict judge_bench(const BenchFigures& figures) {
  const std::string others = other_users(figures), stops = quota_stops(figures);
  BenchVerdict verdict = judge_quiet(figures);
  if (contradicts(figures)) {
    verdict.bottleneck = Bottleneck::kUnknown;
    verdict.sentence = fmt::format(
        "the rates contradict each other: together the parts reach {}, more than the slowest part alone; {}: measure "
        "again, with a longer --seconds",
        rate_text(figures.together), others.empty() ? "the speed of the machine changed" : others);
  } else if (!others.empty() && verdict.bottleneck == Bottleneck::kContention) {
    verdict.sentence = fmt::format(
        "{} while this was measured: together the parts reach {}, which is {} of the slowest part alone; measure again "
        "when the machine is quiet",
        others, rate_text(figures.together), format_percent(verdict.overlap));
  } else if (!others.empty()) {
    const bool starved = verdict.bottleneck == Bottleneck::kLoader && !cores_are_busy(figures);
    verdict.sentence += fmt::format(
        "; {} while this was measured, so {}", others,
        starved ? "the loader lacked cores: measure again when the machine is quiet" : "rates may be too low");
  } else if (!stops.empty() && verdict.bottleneck == Bottleneck::kLoader) {
    verdict.sentence +=
        fmt::format("; {}: raise the quota, or stop the other processes of the container, and measure again", stops);
  }
  return verdict;
}

}  // namespace unstarve
