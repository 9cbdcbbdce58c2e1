#include "unstarve/infer/engines/engine_process.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "unstarve/core/json.h"
#include "unstarve/core/process/child_process.h"
#include "unstarve/core/process/line_pipe.h"
#include "unstarve/infer/engines/engine_memory.h"

namespace unstarve {
namespace {

using EngineJson = nlohmann::json;

ErrorKind kind_named(const std::string& name) {
  for (int kind = 0; kind < static_cast<int>(ErrorKind::kInternal); ++kind)
    if (name == to_string(static_cast<ErrorKind>(kind))) return static_cast<ErrorKind>(kind);
  return ErrorKind::kInternal;
}

std::vector<TensorFacts> tensors_from(const EngineJson& list) {
  std::vector<TensorFacts> tensors;
  for (const EngineJson& each : list)
    tensors.push_back({each.at("name").get<std::string>(), each.at("type").get<std::string>(),
                       each.at("shape").get<std::vector<std::int64_t>>()});
  return tensors;
}

// The last line of a file that is not blank; "": none.
std::string last_line_of(std::FILE* file) {
  std::rewind(file);
  std::string line, last;
  for (int c = std::getc(file); c != EOF; c = std::getc(file)) {
    if (c != '\n') line += static_cast<char>(c);
    if (c != '\n' || line.find_first_not_of(" \t") == std::string::npos) continue;
    last = std::exchange(line, {});
  }
  return last;
}

// "signal 11 (SIGSEGV)", "exit code 1"; `status` as ChildProcess::wait().
std::string end_of(int status) {
  if (status <= 128) return fmt::format("exit code {}", status);
  const char* const name = ::sigabbrev_np(status - 128);
  return fmt::format("signal {} ({})", status - 128, name == nullptr ? "unknown" : std::string("SIG") + name);
}

}  // namespace

struct EngineProcess::State {
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string name;
  ModelFacts model;
  CompiledFacts compiled;
  FileDescriptor file = make_engine_file();  // inherited by the process
  std::optional<EngineMemory> memory;
  std::vector<bool> done;  // by request
  int in_flight = 0;       // started requests whose answers have not been read
  // What the libraries of the engine print, which is shown if the process ends.
  std::unique_ptr<std::FILE, CloseFile> errors{std::tmpfile()};
  std::unique_ptr<LinePipe> lines;
  std::unique_ptr<ChildProcess> process;  // destroyed first, while its pipes are open

  [[noreturn]] void ended() {
    const std::string end = end_of(process->wait()), last = last_line_of(errors.get());
    throw EngineCrash(ErrorKind::kInternal, fmt::format("engine {}: its process ended by {}{}; expected a response",
                                                        name, end, last.empty() ? "" : " after \"" + last + "\""));
  }

  void send(const EngineJson& request) {
    if (!lines->write(json_text(request))) ended();
  }

  EngineJson receive() {
    std::string line;
    if (!lines->read(line)) ended();
    EngineJson answer;
    try {
      answer = parse_json(line);
    } catch (const EngineJson::exception& error) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("engine {}: found {}; expected a response in JSON", name, error.what()));
    }
    if (answer.contains("error"))
      throw Error(kind_named(answer.value("kind", "")), answer.at("error").get<std::string>());
    return answer;
  }

  // Reads the answers of requests that nobody waits for, as after an error of another one.
  void drain() {
    while (in_flight > 0) {
      --in_flight;
      try {
        (void)receive();
      } catch (const EngineCrash&) {
        throw;
      } catch (const Error&) {  // its like was thrown before
      }
    }
  }

  // The answer, read by `use`.
  template <class Use>
  void ask(const EngineJson& request, Use&& use) {
    send(request);
    const EngineJson answer = receive();
    try {
      use(answer);
    } catch (const EngineJson::exception& error) {
      throw Error(ErrorKind::kInternal, fmt::format("engine {}: found {} in {}; expected the response of "
                                                    "engine_process.h",
                                                    name, error.what(), json_text(answer).substr(0, 200)));
    }
  }
};

EngineProcess::EngineProcess(EngineCommand engine, const std::filesystem::path& model)
    : state_(std::make_unique<State>()) {
  state_->name = std::move(engine.name);
  if (!state_->errors) throw io_error("create", "temporary file", errno);
  {
    Pipe requests, answers;
    state_->process = std::make_unique<ChildProcess>(
        engine.command, ChildStreams{requests.reading.get(), answers.writing.get(), fileno(state_->errors.get())});
    state_->lines = std::make_unique<LinePipe>(std::move(answers.reading), std::move(requests.writing));
    close_to_children(state_->file);
  }
  state_->ask({{"load", model.string()}}, [&](const EngineJson& answer) {
    state_->model = {answer.at("version").get<std::string>(), tensors_from(answer.at("inputs")),
                     tensors_from(answer.at("outputs"))};
  });
}

EngineProcess::~EngineProcess() = default;

const std::string& EngineProcess::name() const { return state_->name; }
const ModelFacts& EngineProcess::model() const { return state_->model; }
const CompiledFacts& EngineProcess::compiled() const { return state_->compiled; }
int EngineProcess::requests() const { return static_cast<int>(state_->done.size()); }

void EngineProcess::compile(const EngineSettings& settings, std::span<const std::int64_t> shape, int requests) {
  state_->drain();
  std::vector<std::int64_t> batch{settings.batch};
  batch.insert(batch.end(), shape.begin(), shape.end());
  state_->ask({{"streams", settings.streams},
               {"threads", settings.threads},
               {"precision", settings.precision},
               {"shape", batch}},
              [&](const EngineJson& answer) {
                state_->compiled = {answer.at("output_shape").get<std::vector<std::int64_t>>(),
                                    answer.at("precision").get<std::string>(),
                                    answer.at("kernels").get<std::map<std::string, int>>()};
              });
  const EngineMemoryLayout layout{values_of(batch), values_of(state_->compiled.output_shape), requests};
  state_->memory.reset();
  resize_engine_file(state_->file.get(), layout);
  state_->memory.emplace(state_->file.get(), layout);
  state_->ask({{"memory", state_->file.get()}, {"requests", requests}}, [](const EngineJson&) {});
  state_->done.assign(static_cast<std::size_t>(requests), false);
}

std::span<float> EngineProcess::input(int request) { return state_->memory->input(request); }

void EngineProcess::start(int request) {
  state_->done.at(static_cast<std::size_t>(request)) = false;
  state_->send({{"run", request}});
  ++state_->in_flight;
}

std::span<const float> EngineProcess::wait(int request) {
  while (!state_->done.at(static_cast<std::size_t>(request))) {
    --state_->in_flight;
    const EngineJson answer = state_->receive();
    const auto done = answer.find("done");
    if (done == answer.end() || !done->is_number_unsigned() || done->get<std::size_t>() >= state_->done.size())
      throw Error(ErrorKind::kInternal, fmt::format("engine {}: found {}; expected the number of a request",
                                                    state_->name, json_text(answer).substr(0, 200)));
    state_->done[done->get<std::size_t>()] = true;
  }
  return state_->memory->output(request);
}

std::vector<LayerTime> EngineProcess::profile(int runs) {
  state_->drain();
  std::vector<LayerTime> layers;
  state_->ask({{"profile", runs}}, [&](const EngineJson& answer) {
    for (const EngineJson& layer : answer.at("layers"))
      layers.push_back({layer.at("nodes").get<std::vector<std::string>>(), layer.at("kernel").get<std::string>(),
                        layer.at("ms").get<double>()});
  });
  return layers;
}

}  // namespace unstarve
