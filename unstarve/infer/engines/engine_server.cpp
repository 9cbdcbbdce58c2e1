// serve_engine(): an Engine in this process that answers requests over pipes (engine_process.h).
#include <csignal>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "unstarve/core/json.h"
#include "unstarve/core/process/line_pipe.h"
#include "unstarve/infer/engines/engine_memory.h"
#include "unstarve/infer/engines/engine_process.h"
#include "unstarve/infer/engines/libtorch_module.h"
#include "unstarve/infer/engines/openvino_module.h"

namespace unstarve {
namespace {

using ServerJson = nlohmann::json;

ServerJson json_of(const std::vector<TensorFacts>& tensors) {
  ServerJson list = ServerJson::array();
  for (const TensorFacts& each : tensors)
    list.push_back({{"name", each.name}, {"type", each.type}, {"shape", each.shape}});
  return list;
}

ServerJson json_of(const Error& error) { return {{"error", error.what()}, {"kind", to_string(error.kind())}}; }

class EngineServer {
 public:
  EngineServer(std::string engine, LinePipe& lines) : name_(std::move(engine)), lines_(lines) {}

  // False: the other process has ended.
  bool answer(const ServerJson& request) {
    if (!request.contains("run")) return write(answer_to(request));
    loaded().start(request.at("run").get<int>());
    return true;
  }
  bool write(const ServerJson& answer) {
    const std::lock_guard lock(mutex_);
    return lines_.write(json_text(answer));
  }

 private:
  [[nodiscard]] std::unique_ptr<Engine> open_engine(const std::string& model) const {
    if (name_ == "openvino") return open_openvino(model);
    if (name_ == "libtorch") return open_libtorch(model);
    throw Error(ErrorKind::kArgument, "serve engine: found \"" + name_ + "\"; expected openvino or libtorch");
  }
  Engine& loaded() {
    if (!engine_) throw Error(ErrorKind::kInternal, "serve engine: found a request before the model; expected load");
    return *engine_;
  }

  ServerJson answer_to(const ServerJson& request) {
    if (request.contains("load")) {
      engine_ = open_engine(request.at("load").get<std::string>());
      const ModelFacts& model = engine_->model();
      return {{"version", model.version}, {"inputs", json_of(model.inputs)}, {"outputs", json_of(model.outputs)}};
    }
    if (request.contains("shape")) {
      EngineSettings settings;
      settings.streams = request.at("streams").get<int>();
      settings.threads = request.at("threads").get<int>();
      settings.precision = request.at("precision").get<std::string>();
      shape_ = request.at("shape").get<std::vector<std::int64_t>>();
      compiled_ = loaded().compile(settings, shape_, [this](int done, const std::string& error) {
        (void)write(error.empty() ? ServerJson{{"done", done}} : json_of(Error(ErrorKind::kInput, error)));
      });
      return {
          {"output_shape", compiled_.output_shape}, {"precision", compiled_.precision}, {"kernels", compiled_.kernels}};
    }
    if (request.contains("profile")) {
      ServerJson layers = ServerJson::array();
      for (const LayerTime& layer : loaded().profile(request.at("profile").get<int>()))
        layers.push_back({{"nodes", layer.nodes}, {"kernel", layer.kernel}, {"ms", layer.ms}});
      return {{"layers", layers}};
    }
    const int requests = request.at("requests").get<int>();
    memory_.emplace(request.at("memory").get<int>(),
                    EngineMemoryLayout{values_of(shape_), values_of(compiled_.output_shape), requests});
    for (int i = 0; i < requests; ++i) loaded().bind(i, memory_->input(i).data(), memory_->output(i).data());
    return ServerJson::object();
  }

  std::string name_;
  LinePipe& lines_;
  std::mutex mutex_;  // of writes
  std::vector<std::int64_t> shape_;
  CompiledFacts compiled_;
  std::optional<EngineMemory> memory_;
  std::unique_ptr<Engine> engine_;  // destroyed first: its requests use the members above
};

}  // namespace

int serve_engine(const std::string& engine, int in, int out) {
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C: the parent stops in order, and closes `in`
  LinePipe lines{FileDescriptor(in), FileDescriptor(out)};
  EngineServer server(engine, lines);
  std::string line;
  while (lines.read(line)) {
    bool read = true;
    try {
      read = server.answer(parse_json(line));
    } catch (const Error& error) {
      read = server.write(json_of(error));
    } catch (const std::exception& error) {
      read = server.write(json_of(Error(ErrorKind::kInternal, std::string("serve engine: ") + error.what())));
    }
    if (!read) return 1;
  }
  return 0;
}

}  // namespace unstarve
