#include <catch2/catch.hpp>

#include "unstarve/diagnose/profile/libraries.h"

namespace unstarve {
namespace {

std::string names_of(const RunProfile& profile) {
  const UsedLibraries used = libraries_of(profile);
  return std::string(used.pytorch ? "p" : "") + (used.tensorflow ? "t" : "") + (used.jax ? "j" : "") +
         (used.unstarve ? "u" : "");
}

RunProfile with_files(const std::vector<std::pair<const char*, double>>& files) {
  RunProfile profile;
  profile.stacks.seconds = 10;
  profile.stacks.lines = {{"<module>", "/home/torch/train.py", 1}};
  for (const auto& [file, seconds] : files) {
    profile.stacks.lines.push_back({"f", file, 1});
    const int line = static_cast<int>(profile.stacks.lines.size()) - 1;
    profile.stacks.stacks.push_back({StackThread::kMain, {0, line}, seconds, 0, 9});
  }
  return profile;
}

RunProfile with_threads(const std::vector<std::string>& names, ProcessRole role = ProcessRole::kMain) {
  RunProfile profile;
  ProcessUse process;
  process.role = role;
  for (const std::string& name : names) process.threads.push_back({name, 1, 1, 0, {}});
  profile.processes.push_back(process);
  return profile;
}

TEST_CASE("libraries of a program by the files of its stacks") {
  CHECK(names_of({}).empty());
  CHECK(names_of(with_files({{"/home/torch/model.py", 9}, {"numpy/linalg.py", 1}})).empty());
  CHECK(names_of(with_files({{"torch/nn/modules/module.py", 5}})) == "p");
  CHECK(names_of(with_files({{"tensorflow/python/eager/context.py", 5}})) == "t");
  CHECK(names_of(with_files({{"jax/_src/pjit.py", 5}, {"tensorflow/python/data/ops/iterator_ops.py", 2}})) == "tj");
  CHECK(names_of(with_files({{"unstarve/loaders/base_loader.py", 1}, {"torch/autograd/graph.py", 5}})) == "pu");
  CHECK(names_of(with_files({{"keras/src/trainers/trainer.py", 5}})) == "t");
  CHECK(names_of(with_files({{"keras/src/trainers/trainer.py", 5}, {"jax/_src/pjit.py", 1}})) == "j");
  CHECK(names_of(with_files({{"jax/_src/pjit.py", 5}, {"torch/utils/tensorboard/writer.py", 0.05}})) == "j");
}

TEST_CASE("libraries of a program by threads and traces") {
  CHECK(names_of(with_threads({"python", "pt_autograd_"})) == "p");
  CHECK(names_of(with_threads({"pt_autograd_"}, ProcessRole::kOther)).empty());
  CHECK(names_of(with_threads({"python", "tf_XLAEigen"})) == "j");
  CHECK(names_of(with_threads({"tf_XLAEigen", "tf_Compute"})) == "t");
  CHECK(names_of(with_threads({"unstarve", "unstarve-work"})) == "u");
  RunProfile profile;
  profile.trace.emplace().framework = Framework::kJax;
  CHECK(names_of(profile) == "j");
  profile.processes = with_threads({"tf_Compute"}).processes;
  CHECK(names_of(profile) == "j");
}

}  // namespace
}  // namespace unstarve
