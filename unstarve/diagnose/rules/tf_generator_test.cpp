#include "unstarve/diagnose/rules/tf_generator.h"

#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using testing::found, testing::Names, testing::run;

// model.fit() of Keras with a generator that works for `works_s` of 10 s in a thread of TensorFlow, on 8 cores. The
// threads of the process use `cpu_s`, and wait for a core for `delay_s`.
RunProfile fit(double works_s, double cpu_s, double delay_s = 0) {
  RunProfile profile = run(cpu_s, {});
  profile.processes[0].busiest_thread_s = 0.5 * cpu_s;
  profile.processes[0].run_delay_s = delay_s;
  PythonStacks& stacks = profile.stacks;
  stacks.seconds = stacks.interpreter_s = 10;
  stacks.lines = {{"<module>", "/home/me/train.py", 30},
                  {"quick_execute", "tensorflow/python/eager/execute.py", 53},
                  {"__call__", "tensorflow/python/ops/script_ops.py", 268},
                  {"generator_py_func", "tensorflow/python/data/ops/from_generator_op.py", 198},
                  {"batches", "/home/me/train.py", 12}};
  stacks.stacks = {{StackThread::kMain, {0, 1}, 9.8, 0, 9},
                   {StackThread::kMain, {0}, 0.2, 0.2, 9},
                   {StackThread::kHelper, {2, 3, 4}, works_s, 3, 9}};
  return profile;
}

TEST_CASE("model.fit() waits for a generator that works all the time") {
  const RunProfile profile = fit(9.5, 12);
  CHECK(generator_share(profile) == Approx(0.75));  // for 0.25, another thread computes
  CHECK(input_share(profile) == Approx(0.75));
  CHECK(generator_line(profile.stacks).line.line == 12);
  REQUIRE(found(profile) == Names{"serial-input"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK_THAT(finding.evidence, Catch::Contains("waits for the generator for 75 %") && Catch::Contains("train.py:12"));
  CHECK_THAT(finding.change, Catch::Contains("PyDataset(workers="));
  CHECK_FALSE(finding.gain.known());  // an upper bound
}

TEST_CASE("a generator that has time to spare counts only while no thread can run") {
  CHECK(generator_share(fit(6, 5)) == Approx(0.5));  // without prefetching: nothing else works in this half
  CHECK(generator_share(fit(3, 5)) == Approx(0.3));
  CHECK(generator_share(fit(6, 5, 4)) == Approx(0.1));  // threads wait for cores
  CHECK(generator_share(fit(6, 40)) == 0);              // the network computes on four cores meanwhile
  CHECK(found(fit(6, 40)).empty());
  CHECK(generator_share(fit(18, 20)) == 0);  // two generators, for 90 % of the time each
  CHECK(generator_share(fit(0, 5)) == 0);
}

TEST_CASE("a network that computes while its generator works does not wait for it") {
  for (const double cpu_s : {20.0, 30.0, 60.0}) {
    CHECK(generator_share(fit(9.5, cpu_s)) == 0);
    CHECK_FALSE(found(fit(9.5, cpu_s)).contains("serial-input"));
  }
  CHECK(generator_share(fit(9.5, 14)) == Approx(0.55));
  CHECK(generator_share(fit(8.9, 12)) == 0);
}

TEST_CASE("a GPU that computes does not wait for the generator") {
  RunProfile profile = fit(9.5, 12);
  profile.gpus.resize(1);
  profile.gpus[0].used = true;
  profile.gpus[0].samples = 100;
  profile.gpus[0].utilisation_p50 = profile.gpus[0].utilisation_mean = 0.98;
  CHECK(generator_share(profile) == Approx(0.02));
  CHECK_FALSE(found(profile).contains("serial-input"));
  profile.gpus[0].utilisation_mean = 0.3;
  CHECK(generator_share(profile) == Approx(0.7));
}

TEST_CASE("workers of a PyDataset are the loader for which the generator waits") {
  RunProfile profile = fit(9.5, 2);
  for (int worker = 0; worker < 2; ++worker) {
    profile.processes.push_back(testing::process(ProcessRole::kLoader, 9.8));
    profile.machine.busy_cores += 0.98;
  }
  CHECK(found(profile) == Names{"few-workers"});
}

TEST_CASE("Python that the network executes is not a generator of its data") {
  RunProfile profile = fit(9.5, 12);
  profile.stacks.lines[3] = {"metric", "/home/me/metrics.py", 9};
  CHECK(generator_share(profile) == 0);
  profile = fit(9.5, 12);
  profile.stacks.stacks[0].lines = {0};  // the main thread is in Python
  CHECK(generator_share(profile) == 0);
  profile.stacks = {};
  CHECK(generator_share(profile) == 0);
}

}  // namespace
}  // namespace unstarve
