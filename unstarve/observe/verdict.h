#pragma once
// The bottleneck that the rates of `bench` show, and one sentence that explains it. Pure functions of plain data.
//
// Failure: none. A rate that is not positive and finite counts as not measured; the sentence then names the missing
// measurement.

#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"
#include "unstarve/core/profile.h"

namespace unstarve {

// Rates in samples per second; 0 means not measured.
struct BenchFigures {
  double storage = 0;        // reading records, no decoding
  double loader = 0;         // reading to finished batch
  double copy = 0;           // copying batches to the device
  double network = 0;        // training on a resident batch
  double together = 0;       // all parts concurrently
  double data_wait = 0;      // share of wall time in which the consumer waited for a batch, 0..1
  double utilisation = 0;    // nominal compute / wall, 0..1
  double loader_cores = 0;   // busy cores of the loader alone
  double delayed_cores = 0;  // cores that threads of the loader alone were ready to use, but did not get; 0: unknown
  int usable_cores = 0;
  double free_cores = 0;             // in the affinity mask, but above the CPU quota: others may use them
  double other_cores = 0;            // busy cores of other programs meanwhile
  double stolen_share = 0;           // of the cores' time, by the hypervisor
  double throttled_share = 0;        // of the periods of the CPU quota in which it stopped threads
  std::vector<StageProfile> stages;  // of the loader alone; to name the slowest stage
};

// kUnknown: nothing was measured, or the rates contradict each other. kContention: together, the parts are much slower
// than the slowest part alone.
enum class Bottleneck { kUnknown, kStorage, kLoader, kCopy, kNetwork, kContention };
template <>
inline constexpr std::array<std::string_view, 6> kWords<Bottleneck>{"unknown", "storage", "loader",
                                                                    "copy",    "network", "contention"};

struct BenchVerdict {
  Bottleneck bottleneck = Bottleneck::kUnknown;
  double overlap = 0;    // together / min(loader, copy, network); 1: perfect overlap, 0: unknown
  std::string sentence;  // "the network is the bottleneck; the loader can feed 3.8 such devices"
};

// Whether all together are clearly faster than a part alone, which is impossible.
[[nodiscard]] bool contradicts(const BenchFigures& figures);

[[nodiscard]] BenchVerdict judge_bench(const BenchFigures& figures);

struct StageShare {
  std::string name;  // safe for a terminal; empty if nothing was measured
  double share = 0;  // of the loader's thread time without waiting, 0..1
};
[[nodiscard]] StageShare largest_stage(const std::vector<StageProfile>& stages);
// Whether computation limits the loader: nearly all usable cores are busy.
[[nodiscard]] bool cores_are_busy(const BenchFigures& figures);

// "other programs used 1.2 of 2 cores": other programs or virtual machines that used the cores meanwhile; "": none to
// an extent that matters.
[[nodiscard]] std::string other_users(const BenchFigures& figures);
// "the CPU quota stopped threads in 30 % of its periods"; "" if it did not, or if the loader has nearly all usable
// cores, so that it uses what the quota permits.
[[nodiscard]] std::string quota_stops(const BenchFigures& figures);

}  // namespace unstarve
