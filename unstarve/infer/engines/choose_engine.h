#pragma once
// Measures engines on this machine: rate and latency of a compiled model, and the engine with the settings that compute
// most samples per second.
//
// Inputs are random numbers. Each engine runs in a process of its own; one that crashes or cannot run the model is left
// out, with its reason.
//
// Threads: one. Failure: choose_engine() throws the error of the only engine, or Error(kInput) with the reasons of all.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/infer/engines/engine_process.h"

namespace unstarve {

struct EngineTimes {
  double seconds = 0;              // of all batches together
  std::vector<double> batches_ms;  // from the start of a batch to its result, in the order of the results
};

// Runs the compiled model with random inputs for at least `seconds`, after one batch of each request that is not
// counted. All requests stay in flight until the end; each of them contributes the same number of batches.
// Each time includes sending the request to the process and its answer.
[[nodiscard]] EngineTimes time_engine(EngineProcess& engine, double seconds);

struct EngineRate {
  EngineSettings settings;
  double samples_per_s = 0;
  double p50_ms = 0, p99_ms = 0;  // from the start of a batch to its result, with all requests in flight
};

// From time_engine(). `settings`: those of compile().
[[nodiscard]] EngineRate measure_engine(EngineProcess& engine, const EngineSettings& settings, double seconds);

// Requests of a throughput run: while a batch is computed in each stream, another one is ready.
[[nodiscard]] constexpr int requests_of(const EngineSettings& settings) { return 2 * settings.streams; }

struct EngineSearch {
  std::vector<EngineCommand> engines;  // not empty
  std::filesystem::path model;
  // Of a sample, from the facts of the model; throws if the model does not fit.
  std::function<std::vector<std::int64_t>(const ModelFacts&)> shape;
  std::optional<EngineSettings> settings{};  // only these; nothing: the ones with most samples/s
  int batch = 0;                             // 0: several are tried
  int most_batch = 64;                       // of those that are tried
  int threads = 1;
  std::string precision = "float32";  // EngineSettings
  bool shares_cpus = false;           // a loader uses the same CPUs later
  double seconds = 10;         // for all engines together; each gets one measurement, however long it takes to compile
  double memory_bytes = 16e9;  // available; batches whose inputs would need a tenth of it are not tried
  std::stop_token stop{};      // Error(kCancelled) before the next measurement
};

// The better one of one stream with all threads and a stream for each thread.
[[nodiscard]] EngineRate better_streams(const EngineRate& one, const EngineRate& each, bool shares_cpus);

struct LeftOutEngine {
  std::string engine, reason;
};

struct EngineChoice {
  std::unique_ptr<EngineProcess> engine;  // compiled with `best.settings` and requests_of() them
  EngineRate best;
  std::vector<LeftOutEngine> left_out;
};

[[nodiscard]] EngineChoice choose_engine(const EngineSearch& search);

// The batch of a model whose input has a fixed first dimension; 0: dynamic.
[[nodiscard]] int fixed_batch(const ModelFacts& model);

}  // namespace unstarve
