#pragma once
// An inference engine in this process: loads an ONNX file and runs it on the CPU.
//
//   load ──▶ model() ──▶ compile() ──▶ bind(request, memory) ──▶ start(request) ──▶ done(request)
//
// Programs use engines through EngineProcess (engine_process.h), as an engine may crash. Implementations are modules
// that are loaded at run time.
//
// Ownership: borrows the memory of bind().
// Threads:   one, except `done`, which is called from any thread and must not throw.
// Failure:   Error(kInput) if the engine rejects the file or the shape. An error of a request is passed to `done`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/error.h"  // crosses the boundary of modules, so it is part of the stamp

namespace unstarve {

struct TensorFacts {
  std::string name;
  std::string type;                 // "float32", "uint8", "int64", ...
  std::vector<std::int64_t> shape;  // -1: dynamic
};

struct ModelFacts {
  std::string version;  // of the engine
  std::vector<TensorFacts> inputs, outputs;
};

// Latency is measured with one stream and batch 1; for throughput choose_engine() tries others.
struct EngineSettings {
  int streams = 1;  // batches that are computed at the same time
  int threads = 1;  // of all streams together
  int batch = 1;
  // In which layers without quantisation are computed: "float32", or "bfloat16" if the CPU has it.
  std::string precision = "float32";
  friend bool operator==(const EngineSettings&, const EngineSettings&) = default;
};

struct CompiledFacts {
  std::vector<std::int64_t> output_shape;  // of the first output, for a batch
  std::string precision;                   // in which layers without quantisation are computed; "": not reported
  // The number of convolutions and matrix products by the kernel that computes them: "Convolution
  // brgconv_avx512_F32"; empty: not reported.
  std::map<std::string, int> kernels;
};

// The time of a part of the compiled model, which computes one or several nodes of the file.
struct LayerTime {
  std::vector<std::string> nodes;  // names of their results
  std::string kernel;
  double ms = 0;  // of a batch
};

class Engine {
 public:
  // `error`: "" for a result.
  using Done = std::function<void(int request, const std::string& error)>;

  virtual ~Engine() = default;
  [[nodiscard]] virtual const ModelFacts& model() const = 0;
  // Prepares the model for inputs of `shape`, batch first. Replaces an earlier compilation, whose requests are done.
  virtual CompiledFacts compile(const EngineSettings& settings, std::span<const std::int64_t> shape, Done done) = 0;
  // The memory of a request, float32: `input` of the compiled shape, `output` of CompiledFacts::output_shape. Requests
  // are numbered from 0.
  virtual void bind(int request, float* input, float* output) = 0;
  // Starts a bound request that is not in flight.
  virtual void start(int request) = 0;
  // The median times of the parts of the model over `runs` batches of zeros, compiled as before. Empty if the engine
  // does not report them. No request is in flight.
  virtual std::vector<LayerTime> profile(int runs) = 0;
};

// The product of a shape without dynamic dimensions.
[[nodiscard]] inline std::size_t values_of(std::span<const std::int64_t> shape) {
  std::size_t values = 1;
  for (const std::int64_t side : shape) values *= static_cast<std::size_t>(side);
  return values;
}

}  // namespace unstarve
