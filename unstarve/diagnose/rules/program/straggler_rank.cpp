// One rank delays the others, which wait for it in every exchange. With an exchange in every step all ranks have the
// same step time: the straggler is the one that waits least for the others. Its cause is what it has and they lack.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/ranks/clock_offset.h"
#include "unstarve/diagnose/ranks/rank_uses.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

// Shares of the time. The others wait for the straggler longer than it waits, by one of the first three.
constexpr double kLeast = 0.1;         // if a clear cause is found, kClearCause
constexpr double kWithCause = 0.15;    // if any cause is found
constexpr double kWithoutCause = 0.3;  // in any case
constexpr double kCause = 0.05;        // a smaller difference between ranks is no cause
constexpr double kClearCause = 0.3;
constexpr double kAlike = 0.9;       // a rank that waits for more than this part of the others' time is one of them
constexpr double kFewestStacks = 2;  // seconds of recording

using Figure = std::function<double(const RankUse&)>;

// The median of all ranks but `ranks[except]`.
double of_others(std::span<const RankUse> ranks, std::size_t except, const Figure& figure) {
  std::vector<double> values;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (i != except) values.push_back(figure(ranks[i]));
  return median(values);
}

// The time in which a rank is busy with its own batches, files and logs.
double own_stalls(const RankUse& rank) { return rank.stacks.input + rank.stacks.checkpoint + rank.stacks.logging; }

struct Straggler {
  std::size_t rank = 0;
  double lost = 0;     // share of the time
  double most = 0;     // that may be saved: all waits of the others, also those for the exchange itself
  double seconds = 0;  // in which these shares were measured
  std::string evidence;
};

// By the time in the exchange: of its functions, if stacks show them; otherwise by the time in which the main thread
// waits for other threads outside of the loader, which gloo's backward pass does.
std::optional<Straggler> by_exchange(std::span<const RankUse> ranks) {
  const bool stacks =
      std::ranges::all_of(ranks, [](const RankUse& rank) { return rank.stacks.seconds >= kFewestStacks; });
  const bool named =
      stacks && std::ranges::any_of(ranks, [](const RankUse& rank) { return rank.stacks.exchange >= kLeast; });
  const Figure waits = [&](const RankUse& rank) {
    return named ? rank.stacks.exchange : std::max(rank.lock_wait - rank.stacks.input, 0.0);
  };
  const auto least =
      std::ranges::min_element(ranks, [&](const RankUse& a, const RankUse& b) { return waits(a) < waits(b); });
  Straggler result{.rank = static_cast<std::size_t>(least - ranks.begin()), .evidence = {}};
  const double own = waits(*least), others = of_others(ranks, result.rank, waits);
  result.lost = others - own;
  result.most = others;
  result.seconds = named ? least->stacks.seconds : least->seconds;
  if (result.lost < kLeast || own > kAlike * others) return std::nullopt;
  result.evidence = fmt::format("it {} for {:.0f} % of the time, the others for {:.0f} %",
                                named ? "is in the exchange" : "waits for other threads", 100 * own, 100 * others);
  return result;
}

// Without such waits, for example if the host waits for a device that waits: the rank whose own stalls are longest.
std::optional<Straggler> by_stalls(std::span<const RankUse> ranks) {
  const auto most =
      std::ranges::max_element(ranks, [](const RankUse& a, const RankUse& b) { return own_stalls(a) < own_stalls(b); });
  Straggler result{.rank = static_cast<std::size_t>(most - ranks.begin()), .evidence = {}};
  const double own = own_stalls(*most), others = of_others(ranks, result.rank, own_stalls);
  result.lost = own - others;
  result.most = own;
  result.seconds = most->stacks.seconds;
  if (result.lost < kLeast || others > 0.5 * own) return std::nullopt;
  result.evidence =
      fmt::format("loader, checkpoints and logs take {:.0f} % of its time, and {:.0f} % of the time of the others",
                  100 * own, 100 * others);
  return result;
}

struct StragglerCause {
  double weight = 0;  // share of the time
  std::string title, evidence, change;
};

// Compares `figure` of the straggler with that of the others.
class Comparison {
 public:
  Comparison(std::span<const RankUse> ranks, std::size_t straggler) : ranks_(ranks), straggler_(straggler) {}

  [[nodiscard]] const RankUse& straggler() const { return ranks_[straggler_]; }
  [[nodiscard]] double excess(const Figure& figure) const {
    return figure(straggler()) - of_others(ranks_, straggler_, figure);
  }
  // "its main thread ... for 60 % of the time, the main threads of the others for 2 %"
  [[nodiscard]] StragglerCause share(const Figure& figure, const char* title, const char* does,
                                     const char* change) const {
    return {excess(figure), title,
            fmt::format("its main thread {} for {:.0f} % of the time, the main threads of the others for {:.0f} %",
                        does, 100 * figure(straggler()), 100 * of_others(ranks_, straggler_, figure)),
            change};
  }

 private:
  std::span<const RankUse> ranks_;
  std::size_t straggler_;
};

StragglerCause run_delay_cause(const Comparison& compare) {
  StragglerCause cause =
      compare.share([](const RankUse& r) { return r.run_delay; }, "its main thread waits for a core",
                    "could run, but waited for a core,", "reserve cores for each rank (taskset, cpusets)");
  const auto throttled = [](const RankUse& rank) { return rank.host.throttled_share; };
  const auto foreign = [](const RankUse& rank) { return rank.host.foreign_cores; };
  if (compare.excess(throttled) >= kCause) {
    cause.title = "the CPU quota of its container throttles it";
    cause.evidence +=
        fmt::format("; it was throttled in {:.0f} % of the quota's periods", 100 * throttled(compare.straggler()));
    cause.change = "give its container the same quota as the others";
  } else if (compare.excess(foreign) >= 0.5) {
    cause.title = "other programs use the cores of its host";
    cause.evidence += fmt::format("; other programs use {:.1f} of {:.0f} cores of its host",
                                  foreign(compare.straggler()), compare.straggler().host.usable_cores);
    cause.change = "stop the other programs on its host";
  }
  return cause;
}

// Threads of its own that take the interpreter's lock or the cores from the main thread. Operators on several threads
// also make its main thread compute more.
StragglerCause own_threads_cause(const Comparison& compare) {
  const auto threads = [](const RankUse& rank) { return rank.other_cores; };
  const double excess = compare.excess(threads);
  StragglerCause cause;
  if (excess < 0.3 || compare.excess([](const RankUse& rank) { return rank.main_cores; }) > 0.5 * excess) return cause;
  cause.weight = std::min(excess, 1.0);
  cause.title = "other threads of its process compute";
  cause.evidence = fmt::format("they use {:.1f} cores, and {:.1f} in the other ranks", threads(compare.straggler()),
                               threads(compare.straggler()) - excess);
  cause.change = "move this work to another process, or remove it: it occupies the GIL or the cores";
  return cause;
}

StragglerCause computing_cause(const Comparison& compare) {
  StragglerCause cause = compare.share([](const RankUse& r) { return r.main_cores; }, "its main thread computes longer",
                                       "computes", "compare its batch sizes with the other ranks");
  const RankStacks& stacks = compare.straggler().stacks;
  if (!stacks.hottest.empty()) {
    cause.evidence += fmt::format("; it is in {} for {:.0f} %", stacks.hottest, 100 * stacks.hottest_share);
    cause.change += fmt::format(", and see {}", stacks.hottest);
  }
  return cause;
}

StragglerCause faults_cause(const Comparison& compare) {
  const auto faults = [](const RankUse& rank) { return rank.major_faults_per_s; };
  const double excess = compare.excess(faults);
  if (excess < 100) return {};
  return {kCause, "its memory is read from a device",
          fmt::format("{:.0f} page faults per second wait for a device, {:.0f} in the other ranks",
                      faults(compare.straggler()), faults(compare.straggler()) - excess),
          "add memory to its host, or stop the programs that use it"};
}

// Largest difference first.
std::vector<StragglerCause> causes_of(const Comparison& compare) {
  std::vector<StragglerCause> causes{
      compare.share([](const RankUse& r) { return r.stacks.input; }, "its main thread waits for its loader",
                    "is in the loader",
                    "give it as many workers, as fast storage and shards of the same size as the others have"),
      compare.share([](const RankUse& r) { return r.stacks.checkpoint; }, "it saves checkpoints", "saves checkpoints",
                    "save checkpoints less often, in a thread, or by all ranks (torch.distributed.checkpoint)"),
      compare.share([](const RankUse& r) { return r.stacks.logging; }, "it writes logs", "writes logs",
                    "log less often, or in a thread"),
      compare.share([](const RankUse& r) { return r.stacks.compilation; }, "it compiles", "compiles",
                    "give all ranks inputs of the same shapes"),
      compare.share([](const RankUse& r) { return r.file_wait; }, "it waits for files", "waits for files",
                    "compare the storage of its host with the other hosts"),
      compare.share([](const RankUse& r) { return r.network_wait; }, "it waits for the network", "waits for sockets",
                    "compare the network of its host with the other hosts"),
      compare.share([](const RankUse& r) { return r.sleep_wait; }, "its main thread sleeps", "sleeps",
                    "remove the sleep"),
      run_delay_cause(compare),
      own_threads_cause(compare),
      computing_cause(compare),
      faults_cause(compare),
  };
  std::erase_if(causes, [](const StragglerCause& cause) { return cause.weight < kCause; });
  std::ranges::stable_sort(causes,
                           [](const StragglerCause& a, const StragglerCause& b) { return a.weight > b.weight; });
  return causes;
}

// Those whose steps are known, if several are; otherwise all. Another process may work next to the ranks.
std::vector<RankUse> compared_ranks(const RunProfile& profile) {
  std::vector<RankUse> marked;
  for (const RankUse& rank : profile.ranks)
    if (rank.steps.rate > 0) marked.push_back(rank);
  return marked.size() >= 2 ? marked : profile.ranks;
}

bool ends_steps_together(std::span<const RankUse> ranks) {
  return std::all_of(ranks.begin() + 1, ranks.end(), [&](const RankUse& rank) {
    const std::optional<ClockOffset> offset = clock_offset(ranks[0].steps, rank.steps);
    // What a rank does after the exchange may vary by more than a tenth of a step.
    const bool same_rate = std::abs(rank.steps.rate - ranks[0].steps.rate) < 0.01 * ranks[0].steps.rate;
    return !offset || offset->synchronised || same_rate;
  });
}

std::optional<RunFinding> find_straggler_rank(const RunProfile& profile) {
  const std::vector<RankUse> ranks = compared_ranks(profile);
  if (ranks.size() < 2 || !ends_steps_together(ranks)) return std::nullopt;
  std::optional<Straggler> straggler = by_exchange(ranks);
  if (!straggler) straggler = by_stalls(ranks);
  if (!straggler) return std::nullopt;
  const std::vector<StragglerCause> causes = causes_of(Comparison(ranks, straggler->rank));
  const double weight = causes.empty() ? 0 : causes[0].weight;
  const double least = weight >= kClearCause ? kLeast : weight > 0 ? kWithCause : kWithoutCause;
  if (straggler->lost < least) return std::nullopt;
  RunFinding finding;
  finding.title = fmt::format("{} delays the other ranks: {}", name_of(ranks[straggler->rank]),
                              causes.empty() ? "its cause is unknown" : causes[0].title);
  finding.evidence = straggler->evidence;
  for (std::size_t i = 0; i < std::min<std::size_t>(causes.size(), 3); ++i)
    finding.evidence += "; " + causes[i].evidence;
  finding.change = causes.empty()
                       ? "compare its device (clock, temperature, other programs) and its links with the other ranks"
                       : causes[0].change;
  finding.lost = std::min(straggler->lost, 1.0);
  // Ranks that are alike wait for each other as long as the straggler does now, or not at all.
  finding.gain = {gain_without(finding.lost).gain, gain_without(straggler->lost, straggler->seconds).low,
                  gain_without(straggler->most, straggler->seconds).high};
  return finding;
}

}  // namespace

const Rule kStragglerRank{
    "straggler-rank",
    "several ranks end their steps together. Compared with the others, one of them spends 30 % of the time less in "
    "the exchange; or 15 % less, and something delays it for 5 % of the time more; or 10 % less, and something delays "
    "it for 30 % more; or it spends 10 % of the time more, and twice as much, in loader, checkpoints and logs",
    find_straggler_rank};

}  // namespace unstarve
