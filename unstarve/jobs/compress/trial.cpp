#include "unstarve/jobs/compress/trial.h"

#include <algorithm>
#include <utility>

#include "unstarve/core/machine/topology.h"
#include "unstarve/infer/engines/engine_table.h"
#include "unstarve/jobs/inference/model_fit.h"

namespace unstarve {

namespace {

EngineCommand command_of(const std::string& engine, const std::string& program, const std::string& instructions) {
  EngineCommand command = engines_named(engine, program).front();
  if (!instructions.empty())  // read by oneDNN, which is in OpenVINO
    command.command.insert(command.command.begin(), {"/usr/bin/env", "ONEDNN_MAX_CPU_ISA=" + instructions});
  return command;
}

}  // namespace

Trial::Trial(infer::Graph graph, const std::string& engine, const EngineSettings& settings, const std::string& program,
             const std::string& instructions)
    : graph_(std::move(graph)),
      file_(std::make_unique<GraphFile>(graph_)),
      process_(std::make_unique<EngineProcess>(command_of(engine, program, instructions), file_->path())),
      settings_(settings),
      shape_(sample_shape("compress " + graph_.name, process_->model(), 0)) {
  settings_.batch = std::max(1, fixed_batch(process_->model()));
  compile_for_latency();
}

EngineSettings Trial::compile_for_throughput() {
  const int threads = read_topology().usable();
  EngineSettings settings = settings_;
  settings.streams = settings.threads = threads;
  settings = supported_by(engine(), std::move(settings));
  process_->compile(settings, shape_, requests_of(settings));
  return settings;
}

void Trial::compile_for_latency() { process_->compile(settings_, shape_, 1); }

}  // namespace unstarve
