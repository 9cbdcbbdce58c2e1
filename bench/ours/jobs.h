#pragma once
// The pipeline of a job, and a loop that runs threads for a given time.

#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "bench/ours/side.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve::bench {

// Float32, normalised, one worker thread per core of the job. Throws Error(kArgument) for an unknown job.
[[nodiscard]] PipelineSpec pipeline_of(const Job& job);

// Calls work(thread) on each of `threads` threads repeatedly until `seconds` have passed for that thread; work returns
// its number of samples. The threads start within about 20 us.
template <class Work>
Block run_threads(int threads, double seconds, const Work& work) {
  using Clock = std::chrono::steady_clock;
  std::vector<Block> blocks(static_cast<std::size_t>(threads));
  {
    std::vector<std::jthread> pool;
    for (int thread = 0; thread < threads; ++thread) {
      pool.emplace_back([&, thread] {
        Block block;
        const auto start = Clock::now();
        while (block.seconds < seconds) {
          block.samples += work(thread);
          block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
        }
        blocks[static_cast<std::size_t>(thread)] = block;
      });
    }
  }
  // The sum of the rates of the threads: they do not wait for each other.
  double rate = 0;
  Block all;
  for (const Block& block : blocks) {
    all.samples += block.samples;
    rate += static_cast<double>(block.samples) / block.seconds;
  }
  all.seconds = static_cast<double>(all.samples) / rate;
  return all;
}

}  // namespace unstarve::bench
