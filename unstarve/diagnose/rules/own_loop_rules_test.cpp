// Programs that load their samples in the main thread, without a loader that is known.

#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/own_loop.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

// Stacks of `own`, the file of the program: main() calls batches(), which decodes by Pillow for 6 s, changes images for
// 1.5 s and stacks arrays for 1 s; main() also computes for 1.5 s.
RunProfile own_loop(const char* own = "/home/me/script.py", const char* compute = "backward") {
  RunProfile profile = run(9.9, {});
  PythonStacks& stacks = profile.stacks;
  stacks.seconds = stacks.interpreter_s = 10;
  stacks.lines = {{"main", own, 20},           {"batches", own, 12},
                  {"convert", "PIL/Image.py"}, {"load", "PIL/ImageFile.py", 300},
                  {"resize", "PIL/Image.py"},  {compute, compute[0] == 'b' ? "torch/_tensor.py" : "torch/nn.py", 5}};
  stacks.stacks = {{kMainThread, {0, 1, 2, 3}, 6, 0.1, 9},
                   {kMainThread, {0, 1, 2, 4}, 1.5, 0.1, 9},
                   {kMainThread, {0, 5}, 1.5, 0.2, 9},
                   {kMainThread, {0, 1}, 1, 0.2, 9}};
  return profile;
}

TEST_CASE("a generator of the program decodes images in the main thread") {
  RunProfile profile = own_loop();
  CHECK(own_loading_share(profile) == Approx(0.85));  // with all that batches() does
  CHECK(input_share(profile) == Approx(0.85));
  REQUIRE(found(profile) == Names{"serial-input"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(1 / 0.15));
  CHECK(finding.evidence ==
        "the main thread loads and decodes images for 85 % of the time, mostly at script.py:12 (batches); 7.0 of 8.0 "
        "cores are free");
  CHECK_THAT(finding.change, Catch::Contains("__getitem__() of a Dataset") && Catch::Contains("num_workers="));
  profile.stacks.stacks[0].seconds = 0.2;
  profile.stacks.stacks[1].seconds = 0.1;  // hardly any
  profile.stacks.stacks[3].seconds = 0.1;
  CHECK(own_loading_share(profile) == 0);
  CHECK(found(profile) == Names{});
}

TEST_CASE("a generator of the program decodes large images") {
  RunProfile profile = own_loop();
  profile.processes[0].minor_faults = 2'000'000;  // 8 GB of new memory
  CHECK(found(profile) == Names{"serial-input", "large-images"});
  CHECK_THAT(findings_of(profile)[1].evidence + findings_of(profile)[0].evidence, Catch::Contains("71 % of its time"));
}

TEST_CASE("the main thread decodes images, and no core is free") {
  RunProfile profile = own_loop();
  profile.machine.affinity_cores = 1;
  REQUIRE(found(profile) == Names{"expensive-samples"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(1 / (1 - 0.75 * (1 - 1 / 6.77))));
  CHECK_THAT(finding.change, Catch::StartsWith("load with unstarve.open(...).to_torch()"));
  // In a DataLoader without workers.
  RunProfile loader = profile;
  loader.stacks.lines[1] = {"__next__", kLoaderFile, 12};
  CHECK(found(loader) == Names{"expensive-samples"});
  // Other programs have the other core.
  profile.machine.affinity_cores = 2;
  profile.machine.busy_cores = 1.99;
  profile.processes[0].run_delay_s = 3;
  CHECK(found(profile) == Names{"expensive-samples", "other-programs"});
  profile.processes[0].main_thread.waits.network_s = 8;
  CHECK(found(profile).contains("slow-reads"));
  CHECK_FALSE(found(profile).contains("expensive-samples"));
}

TEST_CASE("programs that do not train may decode in the main thread") {
  RunProfile profile = own_loop("/home/me/infer.py", "forward");
  CHECK(own_loading_share(profile) == 0);
  CHECK(found(profile) == Names{});
  profile.machine.affinity_cores = 1;
  CHECK(found(profile) == Names{});
  profile = own_loop("/home/me/train.py", "forward");  // its name
  CHECK(found(profile) == Names{"serial-input"});
  profile = own_loop("/home/me/infer.py", "forward");
  profile.steps.source = "un.step()";
  CHECK(found(profile) == Names{"serial-input"});
  // A training that decodes only while it evaluates.
  profile = own_loop();
  profile.stacks.lines[1].function = "evaluate";
  CHECK(own_loading_share(profile) == 0);
  CHECK_FALSE(found(profile).contains("serial-input"));
  profile.stacks.lines[0].function = "evaluate_all";
  CHECK_FALSE(found(profile).contains("large-images"));
}

TEST_CASE("images that are loaded at the start, or by others, are no input of the main thread") {
  RunProfile profile = own_loop();
  for (StackUse& stack : profile.stacks.stacks)
    if (stack.lines[1] == 1) stack.last_s = 4;
  CHECK(own_loading_share(profile) == 0);
  CHECK(found(profile) == Names{});
  // Later recordings, of the lock's holder, show only the function around this work, which releases the lock.
  profile.stacks.stacks[3].last_s = 9;
  CHECK(own_loading_share(profile) == Approx(0.85));
  profile.stacks.stacks[3].last_s = 4;
  profile.watching.seconds = 6;  // in the second half of the run, too
  CHECK(own_loading_share(profile) == Approx(0.85));
  // Workers load, or threads.
  profile = own_loop();
  profile.processes.push_back(process(ProcessRole::kLoader, 5));
  CHECK(own_loading_share(profile) == 0);
  profile = own_loop();
  profile.stacks.stacks.push_back({kHelperThread, {1, 2, 3}, 9, 0, 9});
  CHECK(own_loading_share(profile) == 0);
  // Operations on tensors, maybe of a GPU, and images for logs.
  profile = own_loop();
  profile.stacks.lines[2].file = profile.stacks.lines[3].file = profile.stacks.lines[4].file =
      "torchvision/transforms/v2/functional/_color.py";
  CHECK(own_loading_share(profile) == 0);
  profile = own_loop();
  profile.stacks.lines[2] = {"save", "PIL/Image.py", 9};
  CHECK(own_loading_share(profile) == 0);
}

TEST_CASE("a loop that decodes in the function that trains") {
  RunProfile profile = own_loop();
  for (StackUse& stack : profile.stacks.stacks) std::erase(stack.lines, 1);
  CHECK(own_loading_share(profile) == Approx(0.75));  // only what decodes and changes images
  CHECK(found(profile) == Names{"serial-input"});
}

}  // namespace
}  // namespace unstarve
