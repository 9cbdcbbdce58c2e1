#include <algorithm>
#include <catch2/catch.hpp>
#include <tuple>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;
using Catch::Matchers::Contains;

const Changes kAll{"general", "p", "t", "j", "u"};

TEST_CASE("the change is that of the libraries that a program uses") {
  CHECK(change_for({.pytorch = true}, kAll) == "p");
  CHECK(change_for({.jax = true}, kAll) == "j");
  CHECK(change_for({.pytorch = true, .unstarve = true}, kAll) == "PyTorch: p. unstarve: u");
  CHECK(change_for({}, kAll) == "general");
  CHECK(change_for({.tensorflow = true}, {"general", "p"}) == "general");
  CHECK(change_for({.tensorflow = true, .unstarve = true}, {"general", "p", "t"}) == "t");
  CHECK(change_for({}, {"", "p", "t"}) == "PyTorch: p. TensorFlow: t");
  CHECK(change_for({.jax = true}, {"", "p", "t"}) == "PyTorch: p. TensorFlow: t");
}

TEST_CASE("an addition concerns all texts that exist") {
  Changes changes{"general", "p"};
  changes.add({"more", "", "", "for JAX"});
  CHECK(changes.general == "general; more");
  CHECK(changes.pytorch == "p; more");
  CHECK(changes.tensorflow.empty());
  Changes of_all = kAll;
  of_all.add({"more", "", "", "for JAX"});
  CHECK(of_all.jax == "j; for JAX");
  CHECK(of_all.tensorflow == "t; more");
}

// Programs of each library with causes whose changes differ; none names what another library needs.
TEST_CASE("rules on processes state the change of the library") {
  RunProfile few = run(4, {9.7, 9.8});
  RunProfile growing = run(9.8, {});
  growing.timeline.interval_s = 1;
  for (int i = 0; i < 20; ++i) growing.timeline.resident_bytes.push_back(1e9 + 1e8 * i);
  struct Library {
    const char *file, *workers, *memory;
  };
  for (const Library& library :
       {Library{"torch/nn/modules/module.py", "DataLoader(num_workers=5", "loss.item()"},
        Library{"tensorflow/python/eager/context.py", "PyDataset(workers=5", "float(loss)"},
        Library{"jax/_src/pjit.py", "worker_count=5", "jax.device_get(loss)"},
        Library{"unstarve/training/trainer.py", "options(workers=5)", "check lists and caches"}}) {
    INFO(library.file);
    for (const auto& [profile, rule, text] :
         {std::tuple{&few, "few-workers", library.workers}, std::tuple{&growing, "growing-memory", library.memory}}) {
      record(*profile, {{kMainThread, "f", library.file, 4, 0}, {kMainThread, "__next__", kOwnFile, 6, 0}});
      profile->stacks.lines[2].file = "site-packages/webdataset/pipeline.py";
      const std::vector<RunFinding> findings = findings_of(*profile);
      const auto finding = std::find_if(findings.begin(), findings.end(),
                                        [&, name = rule](const RunFinding& one) { return one.rule == name; });
      REQUIRE(finding != findings.end());
      CHECK_THAT(finding->change, Contains(text));
      if (!finding->change.starts_with("DataLoader")) CHECK_THAT(finding->change, !Contains("num_workers"));
      CHECK(finding->changes.by_library().size() >= 3);
    }
  }
}

}  // namespace
}  // namespace unstarve
