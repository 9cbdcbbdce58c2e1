// Measurements by requests over pipes, without another process; tests/python/cli/test_host_settings.py has processes.

#include "unstarve/jobs/ladder/subject.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

const char* const kSamples = "synthetic:classes=3,images=64,size=32,seed=1";
const char* const kDevice = "emulated:h100-resnet50";

Settings settings() {
  Settings settings = default_settings({kSamples, ""}, *open_dataset(kSamples), {"", kDevice});
  settings.pipeline.batch.size = 8;
  return settings;
}

// The server in a thread, and the other ends of its pipes.
class Dialogue {
 public:
  Dialogue() {
    int requests[2], answers[2];
    REQUIRE(::pipe(requests) == 0);
    REQUIRE(::pipe(answers) == 0);
    out_ = requests[1];
    in_ = answers[0];
    server_ = std::thread([this, in = requests[0], out = answers[1]] { code_ = serve_measurements(in, out); });
  }
  ~Dialogue() {
    if (out_ >= 0) (void)end();
    ::close(in_);
  }
  nlohmann::json ask(const std::string& request) {
    const std::string line = request + "\n";
    REQUIRE(::write(out_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    std::string answer;
    for (char c = 0; ::read(in_, &c, 1) == 1 && c != '\n';) answer += c;
    return parse_json(answer);
  }
  int end() {
    ::close(out_);
    out_ = -1;
    server_.join();
    return code_;
  }

 private:
  int in_ = -1, out_ = -1, code_ = -1;
  std::thread server_;
};

TEST_CASE("a measuring process answers with blocks and the profile of the recorded steps") {
  Dialogue dialogue;
  const auto first =
      dialogue.ask(json_text(nlohmann::json{{"settings", to_yaml(settings())}, {"device", kDevice}, {"number", 1}}));
  INFO(json_text(first));
  REQUIRE(first.at("step_s") > 0);
  CHECK(dialogue.ask(R"({"record": true})").empty());
  const auto block = dialogue.ask(R"({"run": 0, "steps": 3})");
  CHECK(block.at("steps") == 3);
  CHECK(block.at("samples") == 24);
  CHECK(block.at("wall_ns") > 0);
  const Profile profile = profile_from_json(json_text(dialogue.ask(R"({"profile": true})")));
  CHECK(profile.batches == 3);
  CHECK(profile.samples == 24);
  CHECK_FALSE(profile.step.empty());
  CHECK(dialogue.end() == 0);
}

TEST_CASE("a measuring process reports errors and continues") {
  Dialogue dialogue;
  const auto error = [&](const std::string& request) { return dialogue.ask(request).at("error").get<std::string>(); };
  CHECK_THAT(error(R"({"run": 1, "steps": 1})"), Catch::Contains("before the settings"));
  CHECK_THAT(error("not JSON"), Catch::Contains("parse error"));
  CHECK_THAT(error(R"({"settings": "unstarve: 9", "device": "cpu", "number": 0})"), Catch::Contains("version 9"));
  const auto first =
      dialogue.ask(json_text(nlohmann::json{{"settings", to_yaml(settings())}, {"device", kDevice}, {"number", 1}}));
  CHECK(first.contains("step_s"));
  CHECK_THAT(error(R"({"sing": true})"), Catch::Contains("unknown request"));
  CHECK(dialogue.end() == 0);
}

TEST_CASE("a process that cannot be started or does not answer is an error") {
  const Target target = parse_target(kDevice);
  CHECK_THAT(
      testing::error_message(
          [&] { (void)measure_in_process(settings(), target, "/no/such/program", read_host_facts()); }, ErrorKind::kIo),
      Catch::Contains("/no/such/program"));
  CHECK_THAT(
      testing::error_message([&] { (void)measure_in_process(settings(), target, "/bin/false", read_host_facts()); },
                             ErrorKind::kInternal),
      Catch::Contains("exit code 1"));
}

TEST_CASE("a process that has already ended is an error and does not end this one by SIGPIPE") {
  // More than a pipe holds, so the request is certainly written to a pipe without a reader.
  Settings long_settings = settings();
  long_settings.pipeline.source.path.assign(std::size_t{1} << 20, 'x');
  REQUIRE(std::signal(SIGPIPE, SIG_DFL) != SIG_ERR);
  CHECK_THAT(
      testing::error_message(
          [&] { (void)measure_in_process(long_settings, parse_target(kDevice), "/bin/false", read_host_facts()); },
          ErrorKind::kInternal),
      Catch::Contains("exit code 1"));
}

}  // namespace
}  // namespace unstarve
