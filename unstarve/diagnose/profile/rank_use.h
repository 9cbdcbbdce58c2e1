#pragma once
// RankUse: what one process of a training job did, reduced to the figures by which the ranks of a job are compared. A
// part of RunProfile: `watch` writes the ranks of its host, and `diagnose` of several profiles compares those of all.
//
// Shares are of the time in which the process lived while it was watched, 0..1.

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve {

struct RankNumbers {
  int global = -1;  // in the whole job; -1: unknown
  int local = -1;   // on its host
  friend bool operator==(const RankNumbers&, const RankNumbers&) = default;
};

// The machine, or the container, on which a rank runs.
struct RankHost {
  std::string name;
  double usable_cores = 0;
  double foreign_cores = 0;    // that programs outside of the watched tree used
  double throttled_share = 0;  // of the periods of its CPU quota
  double io_pressure = 0;
  double received_bytes_per_s = 0;
};

// What the main thread does, by its stacks.
struct RankStacks {
  double seconds = 0;   // in which stacks were recorded; 0: none are known
  double input = 0;     // waits for the loader, or prepares batches
  double exchange = 0;  // exchanges data with other ranks
  double checkpoint = 0;
  double logging = 0;
  double compilation = 0;
  std::string hottest;  // the line of the program in which it is most, outside of the above; empty: unknown
  double hottest_share = 0;
};

// Marked by un.step(); otherwise, only the rate may be known, by NVTX ranges or kernels.
struct RankSteps {
  std::int64_t count = 0;      // of all steps
  double rate = 0;             // per second; 0: unknown
  std::vector<double> ends_s;  // unix times of the latest 2048 at most, in order
};

struct RankUse {
  RankNumbers numbers;
  int pid = 0;
  double begin_unix_s = 0;  // when watching began
  double seconds = 0;       // that the process lived while it was watched
  RankHost host;
  double main_cores = 0;   // of its main thread
  double other_cores = 0;  // of its other threads
  double run_delay = 0;    // its main thread could run, without a CPU
  double lock_wait = 0;    // waits of its main thread, see ThreadWaits
  double file_wait = 0;    // also of writes and fsync
  double network_wait = 0;
  double sleep_wait = 0;
  double major_faults_per_s = 0;
  double storage_bytes_per_s = 0;  // with the processes of its loader
  int loaders = 0;                 // processes of its loader
  RankStacks stacks;
  RankSteps steps;
};

}  // namespace unstarve
