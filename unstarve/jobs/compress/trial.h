#pragma once
// A model that is being tried: a graph, an engine in a process of its own, and its settings.
//
// Ownership: owns the process and the temporary file of the graph. Threads: one. Failure: as EngineProcess.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/infer/engines/compare_engines.h"
#include "unstarve/infer/graph/graph.h"
#include "unstarve/jobs/inference/graph_file.h"

namespace unstarve {

class Trial {
 public:
  // Compiles for latency: one request at a time. `engine`: its name; `program`: path of this program.
  // `instructions`: the newest ones that OpenVINO may use, such as "AVX2"; "": all of this CPU.
  Trial(infer::Graph graph, const std::string& engine, const EngineSettings& settings, const std::string& program,
        const std::string& instructions = "");

  [[nodiscard]] const infer::Graph& graph() const { return graph_; }
  [[nodiscard]] const std::string& engine() const { return process_->name(); }
  [[nodiscard]] const EngineSettings& settings() const { return settings_; }
  [[nodiscard]] int image_size() const { return static_cast<int>(shape_[1]); }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }  // of a sample
  [[nodiscard]] EngineProcess& process() { return *process_; }

  [[nodiscard]] RunningModel running() { return {*process_, settings_}; }
  // Compiles for a run over many images, with a stream per thread if the engine has several, and returns its settings.
  EngineSettings compile_for_throughput();
  void compile_for_latency();

 private:
  infer::Graph graph_;
  std::unique_ptr<GraphFile> file_;  // the process may read it at any time
  std::unique_ptr<EngineProcess> process_;
  EngineSettings settings_;
  std::vector<std::int64_t> shape_;
};

}  // namespace unstarve
