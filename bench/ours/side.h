#pragma once
// One side of a comparison: runs its job in blocks of a given time and is stopped in between.
//
// A side is constructed from a job, the JSON object that bench/run.py also passes to Python peers: "job", "data",
// "cores", "batch", "seed", and for training "model", "classes", "image_size", "precision". "instructions": "avx2"
// disables AVX-512 kernels. sides.h lists the sides.
// Threads: run() and check() from one thread. Failure: exceptions of the library; main.cpp reports {"error": text}.

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace unstarve::bench {

using Job = nlohmann::json;

// The number of samples of a block, and its time.
struct Block {
  std::int64_t samples = 0;
  double seconds = 0;
  double cpu_seconds = 0;  // of the whole process; 0: not measured
};

// CPU time of all threads of this process, those that have ended included.
inline double process_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Side {
 public:
  virtual ~Side() = default;
  // Processes whole batches (or samples, if there are no batches) for at least `seconds`.
  virtual Block run(double seconds) = 0;
  // Statistics of the output for a person to check; sides with images write a sheet of crops to `sheet` (PPM).
  virtual nlohmann::json check(const std::optional<std::string>& sheet) = 0;
};

}  // namespace unstarve::bench
