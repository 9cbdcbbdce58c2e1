#pragma once
// An inference engine in a process of its own: a crash of the engine is an error that names its signal.
//
//   EngineProcess ──requests, JSON lines──▶ serve_engine(): Engine      openvino: this program with kEngineVerb
//        ▲        ◀──answers, JSON lines───         or                  onnxruntime: a Python script
//        └────── inputs and outputs in shared memory ──────┘
//
//   request                                                   answer
//   {"load": PATH}                                            {"version", "inputs": [{name, type, shape}], "outputs"}
//   {"streams": N, "threads": N, "precision": NAME,           {"output_shape": [], "precision", "kernels": {}}
//    "shape": [batch, ...]}
//   {"memory": DESCRIPTOR, "requests": N}                     {}
//   {"run": REQUEST}                                          {"done": REQUEST}, when it is done, in any order
//   {"profile": RUNS}                                         {"layers": [{"nodes": [], "kernel", "ms"}]}
//   any                                                       {"error": MESSAGE, "kind": KIND}
//
// In the memory, request i has its input at i * (input + output) values of float32, and its output after that.
//
// Ownership: owns the process, which ends with this object or its own parent. Spans are valid until compile().
// Threads:   one. Blocking: until the engine answers.
// Failure:   the error of the engine; EngineCrash if its process ends.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/infer/engines/engine.h"

namespace unstarve {

// How the process of an engine is started.
struct EngineCommand {
  std::string name;  // "openvino"
  std::vector<std::string> command;
};

// Error(kInternal): the process of an engine ended. The message has the signal or the exit code, and the last line that
// the process printed to standard error.
class EngineCrash : public Error {
 public:
  using Error::Error;
};

class EngineProcess {
 public:
  EngineProcess(EngineCommand engine, const std::filesystem::path& model);
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const ModelFacts& model() const;
  // Compiles the model for a batch of samples of `shape`, such as {3, 224, 224}, and allocates `requests` requests.
  // Results of requests that are in flight are lost.
  void compile(const EngineSettings& settings, std::span<const std::int64_t> shape, int requests);
  [[nodiscard]] const CompiledFacts& compiled() const;

  [[nodiscard]] int requests() const;
  [[nodiscard]] std::span<float> input(int request);
  void start(int request);
  // Waits for a started request. Returns its output, valid until the request is started again.
  std::span<const float> wait(int request);
  // As Engine::profile().
  [[nodiscard]] std::vector<LayerTime> profile(int runs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The process of an engine of this program: answers requests that it reads from `in` until that is closed. Returns the
// exit code. The program runs it for the arguments kEngineVerb and the name of the engine, which is not for users.
inline constexpr const char* kEngineVerb = "serve-engine";
[[nodiscard]] int serve_engine(const std::string& engine, int in, int out);

}  // namespace unstarve
