// Engines that are shell scripts; tests/python/infer has the real ones.

#include "unstarve/infer/engines/engine_process.h"
#include "unstarve/core/json.h"

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "unstarve/core/process/line_pipe.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/engines/choose_engine.h"
#include "unstarve/infer/engines/engine_table.h"

namespace unstarve {
namespace {

using testing::error_message;

// An engine with inputs of any batch x 3 x 2 x 2 and outputs of 1 x 4, which executes `on_run` in the shell for each
// request, whose number is $n.
EngineCommand scripted(const std::string& name, const std::string& on_run) {
  const std::string script = R"(while read line; do case $line in
    *load*) echo '{"version": "7", "inputs": [{"name": "images", "type": "float32", "shape": [-1, 3, 2, 2]}],)"
                             R"( "outputs": [{"name": "classes", "type": "float32", "shape": [-1, 4]}]}';;
    *shape*) echo '{"output_shape": [1, 4], "precision": "float32", "kernels": {"Convolution a": 2}}';;
    *memory*) echo '{}';;
    *run*) n=${line#*:}; n=${n%\}}; )" +
                             on_run + ";; esac; done";
  return {name, {"/bin/sh", "-c", script}};
}

// The same, which accepts batch 1 only.
EngineCommand only_batch_1(const std::string& on_run) {
  EngineCommand engine = scripted("narrow", on_run);
  std::string& script = engine.command[2];
  const std::string any_shape = "*shape*)";
  script.replace(script.find(any_shape), any_shape.size(), R"(*'"shape":[1,'*))");
  script.insert(script.find("*memory*)"), R"(*shape*) echo '{"error": "batch", "kind": "input"}';; )");
  return engine;
}

const char* const kAnswers = R"(echo "{\"done\": $n}")";
const std::vector<std::int64_t> kSample{3, 2, 2};

EngineSearch search_of(std::vector<EngineCommand> engines) {
  EngineSearch search;
  search.engines = std::move(engines);
  search.model = "m.onnx";
  search.shape = [](const ModelFacts&) { return kSample; };
  search.batch = 1;
  search.seconds = 0.1;
  return search;
}

std::string message_of_run(const std::string& on_run) {
  EngineProcess engine(scripted("bad", on_run), "m.onnx");
  engine.compile({}, kSample, 2);
  engine.start(1);
  return error_message([&] { (void)engine.wait(1); }, ErrorKind::kInternal);
}

}  // namespace

TEST_CASE("a process describes its model and computes requests in any order") {
  // Answers two requests at a time, the second one first.
  EngineProcess engine(
      scripted("swap", R"(if [ -n "$m" ]; then echo "{\"done\": $n}"; echo "{\"done\": $m}"; m=; else m=$n; fi)"),
      "m.onnx");
  CHECK(engine.name() == "swap");
  CHECK(engine.model().version == "7");
  REQUIRE(engine.model().inputs.size() == 1);
  CHECK(engine.model().inputs[0].shape == std::vector<std::int64_t>{-1, 3, 2, 2});
  engine.compile({}, kSample, 2);
  CHECK(engine.compiled().precision == "float32");
  CHECK(engine.compiled().kernels.at("Convolution a") == 2);
  CHECK(engine.requests() == 2);
  CHECK(engine.input(1).size() == 12);
  engine.start(0);
  engine.start(1);
  CHECK(engine.wait(0).size() == 4);
  CHECK(engine.wait(1).size() == 4);
}

TEST_CASE("a crash of an engine is an error with its name and its signal") {
  for (const auto& [signal, text] : std::vector<std::pair<std::string, std::string>>{{"SEGV", "signal 11 (SIGSEGV)"},
                                                                                     {"FPE", "signal 8 (SIGFPE)"},
                                                                                     {"ILL", "signal 4 (SIGILL)"},
                                                                                     {"KILL", "signal 9 (SIGKILL)"}})
    CHECK(message_of_run("kill -" + signal + " $$") ==
          "engine bad: its process ended by " + text + "; expected a response");
  CHECK(message_of_run("echo one >&2; echo broken >&2; exit 3") ==
        "engine bad: its process ended by exit code 3 after \"broken\"; expected a response");
  CHECK(message_of_run("exit 3") == "engine bad: its process ended by exit code 3; expected a response");
  CHECK_THROWS_AS(EngineProcess({"gone", {"/bin/sh", "-c", "kill -SEGV $$"}}, "m.onnx"), EngineCrash);
}

TEST_CASE("errors of an engine keep their kind; other answers are errors") {
  const auto answering = [](const std::string& answer) {
    return EngineCommand{"e", {"/bin/sh", "-c", "read line; echo '" + answer + "'; read line"}};
  };
  CHECK(error_message([&] { EngineProcess(answering(R"({"error": "no package", "kind": "missing"})"), "m.onnx"); },
                      ErrorKind::kMissing) == "no package");
  CHECK(error_message([&] { EngineProcess(answering("hello"), "m.onnx"); }, ErrorKind::kInternal)
            .starts_with("engine e: found [json.exception"));
  CHECK(error_message(
            [&] {
              EngineProcess({"e", {"/no/such/program"}}, "m.onnx");
            },
            ErrorKind::kIo)
            .starts_with("start /no/such/program"));
}

TEST_CASE("the server answers requests it cannot serve with errors, and ends with its input") {
  Pipe requests, answers;
  int code = -1;
  std::jthread server([&, in = requests.reading.release(), out = answers.writing.release()] {
    code = serve_engine("toaster", in, out);
  });
  {
    LinePipe lines(std::move(answers.reading), std::move(requests.writing));
    std::string line;
    const auto answer = [&](const std::string& request) {
      REQUIRE(lines.write(request));
      REQUIRE(lines.read(line));
      return parse_json(line);
    };
    CHECK(answer(R"({"load": "m.onnx"})")["error"] ==
          R"(serve engine: found "toaster"; expected openvino or libtorch)");
    CHECK(answer(R"({"run": 0})")["error"] == "serve engine: found a request before the model; expected load");
    CHECK(answer("{")["kind"] == "internal");
  }
  server.join();
  CHECK(code == 0);
}

TEST_CASE("a measurement has the rate and the latency of the batches") {
  EngineProcess engine(scripted("fast", kAnswers), "m.onnx");
  engine.compile({}, kSample, 2);
  const EngineRate rate = measure_engine(engine, {}, 0.05);
  CHECK(rate.samples_per_s > 0);
  CHECK(rate.p50_ms > 0);
  CHECK(rate.p99_ms >= rate.p50_ms);
}

TEST_CASE("each request contributes the same number of batches to a measurement") {
  // Two streams: two requests are computed at the same time, and answered together.
  EngineProcess engine(
      scripted("pairs",
               R"(if [ -n "$m" ]; then sleep 0.01; echo "{\"done\": $m}"; echo "{\"done\": $n}"; m=; else m=$n; fi)"),
      "m.onnx");
  engine.compile({}, kSample, 2);
  const EngineTimes times = time_engine(engine, 0.015);
  CHECK(times.seconds >= 0.015);
  CHECK(times.batches_ms.size() >= 2);
  CHECK(times.batches_ms.size() % 2 == 0);
}

TEST_CASE("a stream per thread is preferred where a loader uses the same CPUs") {
  const EngineRate one{{1, 2, 8}, 100, 10, 12};
  for (const auto& [samples_per_s, alone, shared] :
       {std::array{94.0, 1.0, 1.0}, std::array{96.0, 1.0, 2.0}, std::array{101.0, 2.0, 2.0}}) {
    const EngineRate each{{2, 2, 8}, samples_per_s, 20, 24};
    CHECK(better_streams(one, each, false).settings.streams == alone);
    CHECK(better_streams(one, each, true).settings.streams == shared);
  }
}

TEST_CASE("the choice leaves out engines that crash, with their reason, and takes the fastest of the others") {
  const EngineChoice choice =
      choose_engine(search_of({scripted("crashes", "kill -FPE $$"),
                               scripted("slow", "sleep 0.02; " + std::string(kAnswers)), scripted("fast", kAnswers)}));
  CHECK(choice.engine->name() == "fast");
  CHECK(choice.best.settings == EngineSettings{1, 1, 1});
  CHECK(choice.engine->requests() == requests_of(choice.best.settings));
  REQUIRE(choice.left_out.size() == 1);
  CHECK(choice.left_out[0].engine == "crashes");
  CHECK(choice.left_out[0].reason == "engine crashes: its process ended by signal 8 (SIGFPE); expected a response");
}

TEST_CASE("without an engine that runs, the choice fails with the reasons of all") {
  CHECK(error_message([] {
          (void)choose_engine(search_of({scripted("a", "exit 2"), scripted("b", "kill -ILL $$")}));
        }) ==
        "engine a: its process ended by exit code 2; expected a response\n"
        "engine b: its process ended by signal 4 (SIGILL); expected a response");
  CHECK(error_message([] { (void)choose_engine(search_of({scripted("a", "exit 2")})); }, ErrorKind::kInternal) ==
        "engine a: its process ended by exit code 2; expected a response");
}

TEST_CASE("settings that the engine rejects are not chosen") {
  EngineSearch search = search_of({only_batch_1(kAnswers)});
  search.batch = 0;
  search.seconds = 1;
  const EngineChoice choice = choose_engine(search);
  CHECK(choice.best.settings.batch == 1);
  CHECK(choice.left_out.empty());
  choice.engine->start(1);
  CHECK(choice.engine->wait(1).size() == 4);
}

TEST_CASE("batches that would take too much memory are not tried") {
  EngineSearch search = search_of({scripted("any", kAnswers)});
  search.batch = 0;
  search.seconds = 1;
  search.memory_bytes = 10.0 * 2 * 12 * sizeof(float) * 4;  // two requests of batch 4
  CHECK(choose_engine(search).best.settings.batch == 1);
}

TEST_CASE("a measurement can be stopped") {
  EngineSearch search = search_of({scripted("any", kAnswers), scripted("other", kAnswers)});
  std::stop_source stop;
  search.stop = stop.get_token();
  stop.request_stop();
  CHECK_FALSE(error_message([&] { (void)choose_engine(search); }, ErrorKind::kCancelled).empty());
}

TEST_CASE("answers of requests that failed are not taken for those of the next settings") {
  EngineProcess engine(scripted("fails", R"(echo "{\"error\": \"no $n\", \"kind\": \"input\"}")"), "m.onnx");
  engine.compile({}, kSample, 2);
  engine.start(0);
  engine.start(1);
  CHECK(error_message([&] { (void)engine.wait(0); }, ErrorKind::kInput) == "no 0");
  engine.compile({}, kSample, 1);
  CHECK(engine.compiled().output_shape == std::vector<std::int64_t>{1, 4});
}

TEST_CASE("an answer of another form is an error that shows it") {
  EngineProcess engine(scripted("odd", "echo '{\"done\": 7}'"), "m.onnx");
  engine.compile({}, kSample, 2);
  engine.start(1);
  CHECK(error_message([&] { (void)engine.wait(1); }, ErrorKind::kInternal) ==
        R"(engine odd: found {"done":7}; expected the number of a request)");
}

TEST_CASE("a model that does not fit is reported once, not as a fault of every engine") {
  EngineSearch search = search_of({scripted("a", kAnswers), scripted("b", kAnswers)});
  search.shape = [](const ModelFacts&) -> std::vector<std::int64_t> { throw Error(ErrorKind::kInput, "no images"); };
  CHECK(error_message([&] { (void)choose_engine(search); }) == "no images");
}

TEST_CASE("settings have one stream, and float32, for engines without others") {
  const EngineSettings wanted{4, 4, 1, "bfloat16"};
  CHECK(supported_by("openvino", wanted) == wanted);
  CHECK(supported_by("onnxruntime", wanted) == EngineSettings{4, 4, 1, "float32"});
  CHECK(supported_by(kGpuEngine, wanted) == EngineSettings{4, 4, 1, "float32"});
  CHECK(supported_by(kReferenceEngine, wanted) == EngineSettings{1, 4, 1, "bfloat16"});
}

TEST_CASE("engines have names") {
  CHECK(engines_named("auto", "unstarve").size() == 2);
  CHECK(engines_named("openvino", "unstarve")[0].command ==
        std::vector<std::string>{"unstarve", "serve-engine", "openvino"});
  CHECK(error_message([] { (void)engines_named("abacus", "unstarve"); }, ErrorKind::kArgument) ==
        "engine: found \"abacus\"; expected auto, openvino, onnxruntime, tensorrt, libtorch");
}

}  // namespace unstarve
