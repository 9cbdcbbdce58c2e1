#pragma once
// One side of a comparison: does its job in blocks of a given time, and stands still in between.
//
// A side is made from a job, the JSON object that bench/run.py also hands to the Python peers: "job", "data", "cores",
// "batch", "seed", and for training "model", "classes", "image_size", "precision". "instructions": "avx2" keeps our
// kernels from AVX-512, whatever the processor has. See sides.h for the sides there are.
// Threads: run() and check() from one thread. Failure: what the library throws; main.cpp reports it as {"error": text}.

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace unstarve::bench {

using Job = nlohmann::json;

// What was done, and the time it took.
struct Block {
  std::int64_t samples = 0;
  double seconds = 0;
  double cpu_seconds = 0;  // of the whole process; 0: not measured
};

class Side {
 public:
  virtual ~Side() = default;
  // Whole batches (or, where there are none, samples) for at least `seconds`.
  virtual Block run(double seconds) = 0;
  // What a person wants to see of the output; a picture goes to `sheet`, a PPM file, where there is one to draw.
  virtual nlohmann::json check(const std::optional<std::string>& sheet) = 0;
};

}  // namespace unstarve::bench
