#pragma once
// The bench's four figures and the one sentence that follows from them. Pure functions of plain data.
//
// Failure: none; a figure that is not positive and finite counts as not measured, and the sentence says what is
// missing.

#include <string>
#include <vector>

#include "unstarve/core/profile.h"

namespace unstarve {

// Rates in samples per second; 0 means not measured.
struct BenchFigures {
  double storage = 0;  // records read, nothing decoded
  double loader = 0;   // read to batch
  double copy = 0;     // batch to device
  double network = 0;  // resident batch
  double together = 0;
  double data_wait = 0;     // share of wall time that the consumer waited for a batch, 0..1
  double utilisation = 0;   // nominal compute / wall, 0..1
  double loader_cores = 0;  // cores busy while the loader ran alone
  int usable_cores = 0;
  std::vector<StageProfile> stages;  // of the loader alone; names the stage that takes most of its time
};

// kUnknown: nothing was measured. kContention: together the parts stay well below the slowest of them.
enum class Bottleneck { kUnknown, kStorage, kLoader, kCopy, kNetwork, kContention };
[[nodiscard]] const char* to_string(Bottleneck bottleneck) noexcept;

struct BenchVerdict {
  Bottleneck bottleneck = Bottleneck::kUnknown;
  double overlap = 0;    // together / min(loader, copy, network): 1 means the parts hide behind the slowest; 0 unknown
  std::string sentence;  // "the network is the bottleneck; the loader could feed 3.8 such devices"
};

[[nodiscard]] BenchVerdict judge_bench(const BenchFigures& figures);

}  // namespace unstarve
