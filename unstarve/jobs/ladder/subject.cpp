#include "unstarve/jobs/ladder/subject.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/process/child_process.h"
#include "unstarve/core/process/line_pipe.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/probe/memory_probe.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

class LocalSubject final : public Subject {
 public:
  LocalSubject(const Settings& settings, const std::shared_ptr<const Dataset>& dataset, const Target& target,
               std::uint32_t number) {
    const MemoryProbe probe;
    rig_ = std::make_unique<Rig>(settings, dataset, target, number);
    rig_->warm_up();
    const Block block = rig_->run(kShortestBlock, 1);
    first_.step_s = static_cast<double>(block.wall_ns) / 1e9 / static_cast<double>(block.steps);
    if (target.cuda())
      first_.memory_bytes = rig_->trainer()->peak_memory_bytes();
    else if (probe.exact())  // else unknown: the lifetime peak of the process would be misleading
      first_.memory_bytes = probe.peak_growth_bytes();
  }

  Block run(double seconds, int min_steps) override {
    return rig_->run(seconds, min_steps, recording_ ? &steps_ : nullptr);
  }
  void record() override {
    recording_ = true;
    if (rig_->trainer() != nullptr) rig_->trainer()->enable_timing(true);
  }
  Profile profile() override {
    Profile profile = rig_->loader().profile();
    profile.wall_ns = 0;
    for (const StepParts& step : steps_) profile.wall_ns += step.total_ns();
    profile.batches = static_cast<std::int64_t>(steps_.size());
    profile.samples = profile.batches * rig_->settings().pipeline.batch.size;
    profile.step = summarise(steps_);
    profile.utilisation = utilisation_over_time(steps_, rig_->nominal_step_ns());
    return profile;
  }
  [[nodiscard]] const Settings& settings() const override { return rig_->settings(); }
  [[nodiscard]] const FirstMeasurements& first() const override { return first_; }

 private:
  std::unique_ptr<Rig> rig_;
  FirstMeasurements first_;
  bool recording_ = false;
  std::vector<StepParts> steps_;
};

//   request                                       answer
//   {"settings": TEXT, "device": D, "number": N}  {"memory_bytes": N, "step_s": S}      once, at first
//   {"run": SECONDS, "steps": N}                  the members of Block
//   {"record": true}                              {}
//   {"profile": true}                             a Profile
//   any                                           {"error": MESSAGE}
class RemoteSubject final : public Subject {
 public:
  RemoteSubject(const Settings& settings, const Target& target, const std::string& program, const HostFacts& facts,
                std::uint32_t number)
      : settings_(settings) {
    Environment environment = facts.user;
    for (const auto& [name, value] : environment_for(settings.host, facts).variables) environment[name] = value;
    {
      Pipe requests, answers;
      process_ =
          std::make_unique<ChildProcess>(std::vector<std::string>{program, kMeasureCommand},
                                         ChildStreams{requests.reading.get(), answers.writing.get()}, &environment);
      lines_ = std::make_unique<LinePipe>(std::move(answers.reading), std::move(requests.writing));
    }
    const Json answer = ask({{"settings", to_yaml(settings)}, {"device", target.name}, {"number", number}});
    first_ = {answer.at("memory_bytes").get<std::size_t>(), answer.at("step_s").get<double>()};
  }

  Block run(double seconds, int min_steps) override {
    const Json answer = ask({{"run", seconds}, {"steps", min_steps}});
    const auto number = [&](const char* name) { return answer.at(name).get<std::int64_t>(); };
    return {number("steps"), number("samples"), number("wall_ns"), number("wait_ns"), number("nominal_ns")};
  }
  void record() override { (void)ask({{"record", true}}); }
  Profile profile() override { return profile_from_json(json_text(ask({{"profile", true}}))); }
  [[nodiscard]] const Settings& settings() const override { return settings_; }
  [[nodiscard]] const FirstMeasurements& first() const override { return first_; }

 private:
  Json ask(const Json& request) {
    std::string line;
    if (!lines_->write(json_text(request)) || !lines_->read(line)) {
      const int status = process_->wait();
      throw Error(
          ErrorKind::kInternal,
          fmt::format("measuring in another process: it ended with {}; expected a response",
                      status > 128 ? fmt::format("signal {}", status - 128) : fmt::format("exit code {}", status)));
    }
    Json answer = parse_answer(line);
    if (answer.contains("error")) throw Error(ErrorKind::kInternal, answer["error"].get<std::string>());
    return answer;
  }

  static Json parse_answer(const std::string& line) {
    try {
      return parse_ordered_json(line);
    } catch (const Json::exception& error) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("measuring in another process: found {}; expected a response in JSON", error.what()));
    }
  }

  Settings settings_;
  FirstMeasurements first_;
  std::unique_ptr<LinePipe> lines_;
  std::unique_ptr<ChildProcess> process_;  // destroyed first, while its pipes are open
};

class Server {
 public:
  Json answer(const Json& request) {
    if (request.contains("settings")) {
      const Settings settings = settings_from_yaml(request["settings"].get<std::string>(), "settings");
      require_loaded(settings.host, read_host_facts());
      subject_ = measure_here(settings, open_sources(settings.pipeline), parse_target(request["device"]),
                              request.at("number").get<std::uint32_t>());
      return {{"memory_bytes", subject_->first().memory_bytes}, {"step_s", subject_->first().step_s}};
    }
    if (!subject_) throw Error(ErrorKind::kArgument, "measure: found a request before the settings; expected settings");
    if (request.contains("run")) {
      const Block block = subject_->run(request["run"].get<double>(), request.at("steps").get<int>());
      return {{"steps", block.steps},
              {"samples", block.samples},
              {"wall_ns", block.wall_ns},
              {"wait_ns", block.wait_ns},
              {"nominal_ns", block.nominal_ns}};
    }
    if (request.contains("profile")) return parse_ordered_json(to_json(subject_->profile()));
    if (!request.contains("record")) throw Error(ErrorKind::kArgument, "measure: found an unknown request");
    subject_->record();
    return Json::object();
  }

 private:
  std::unique_ptr<Subject> subject_;
};

}  // namespace

std::unique_ptr<Subject> measure_here(const Settings& settings, const std::shared_ptr<const Dataset>& dataset,
                                      const Target& target, std::uint32_t number) {
  return std::make_unique<LocalSubject>(settings, dataset, target, number);
}

std::unique_ptr<Subject> measure_in_process(const Settings& settings, const Target& target, const std::string& program,
                                            const HostFacts& facts, std::uint32_t number) {
  return std::make_unique<RemoteSubject>(settings, target, program, facts, number);
}

int serve_measurements(int in, int out) {
  LinePipe lines{FileDescriptor(in), FileDescriptor(out)};
  Server server;
  std::string line;
  while (lines.read(line)) {
    Json answer;
    try {
      answer = server.answer(parse_ordered_json(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    if (!lines.write(json_text(answer))) return 1;  // the other process has ended
  }
  return 0;
}

}  // namespace unstarve
