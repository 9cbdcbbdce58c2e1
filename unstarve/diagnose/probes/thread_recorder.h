#pragma once
// Reads the counters of one thread of another process often: its files in /proc are opened once.
//
// Threads: one at a time. Failure: counters that cannot be read are left out. Cost: 25 us per sample.

#include <array>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string_view>
#include <vector>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/diagnose/probes/step_period.h"

namespace unstarve {

class ThreadRecorder {
 public:
  // The main thread of `process`. `most`: samples.
  ThreadRecorder(int process, std::size_t most, const std::filesystem::path& proc = "/proc");

  // `seconds` increase from call to call. False: the thread has ended and was waited for, or there are `most` samples.
  bool look(double seconds);

  // Takes one sample in each interval, at random times, so that they do not beat with the clock of the scheduler, until
  // look() returns false or a stop is requested.
  void record(double interval_s, const std::stop_token& stop);

  // In equal intervals from the first sample to the last; counts between two samples are spread evenly.
  [[nodiscard]] ThreadSeries series(double interval_s) const;
  [[nodiscard]] double seconds() const;  // from the first sample to the last
  [[nodiscard]] std::size_t looks() const { return looks_.size(); }
  [[nodiscard]] double cpu_share() const;    // of one core
  [[nodiscard]] double wait_share() const;   // of the time: ready to run, without a CPU
  [[nodiscard]] double sleep_share() const;  // of the time

 private:
  static constexpr std::size_t kCounters = 5;
  static constexpr std::size_t kRare = 8;  // one sample of eight reads whether it sleeps
  struct Look {
    double seconds;
    std::array<double, kCounters> counters;  // since the thread began; 0: unknown
  };

  std::size_t most_;
  std::array<FileDescriptor, 4> files_;
  std::vector<Look> looks_;
  std::int64_t first_wait_ns_ = 0, last_wait_ns_ = 0;
  std::size_t rare_looks_ = 0, sleeping_ = 0;  // samples of the system call
  std::array<char, 4096> buffer_;
};

}  // namespace unstarve
