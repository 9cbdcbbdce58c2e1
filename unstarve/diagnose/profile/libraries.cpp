#include "unstarve/diagnose/profile/libraries.h"

#include <array>
#include <string>

namespace unstarve {
namespace {

constexpr double kLeastOfTime = 0.01;

struct LibraryFiles {
  const char* folder;  // of its files; see CodeLine
  bool UsedLibraries::*library;
};
constexpr std::array kLibraryFiles{
    LibraryFiles{"torch/", &UsedLibraries::pytorch}, LibraryFiles{"tensorflow/", &UsedLibraries::tensorflow},
    LibraryFiles{"jax/", &UsedLibraries::jax}, LibraryFiles{"unstarve/", &UsedLibraries::unstarve}};

double seconds_in(const PythonStacks& stacks, const std::string& folder) {
  double seconds = 0;
  for (const StackUse& stack : stacks.stacks) {
    for (const int line : stack.lines) {
      if (!stacks.lines[static_cast<std::size_t>(line)].file.starts_with(folder)) continue;
      seconds += stack.seconds + stack.interpreter_s;
      break;
    }
  }
  return seconds;
}

// XLA names its threads as TensorFlow does; those of TensorFlow alone have other names.
void add_by_threads(UsedLibraries& used, const RunProfile& profile) {
  bool tensorflow = false, xla = false;
  for (const ProcessUse& process : profile.processes) {
    if (process.role == ProcessRole::kOther) continue;
    if (process.name.starts_with("pt_")) used.pytorch = true;
    for (const ThreadUse& thread : process.threads) {
      if (thread.name.starts_with("pt_")) used.pytorch = true;
      if (thread.name.starts_with("unstarve-work")) used.unstarve = true;
      (thread.name.starts_with("tf_XLA") ? xla : tensorflow) |= thread.name.starts_with("tf_");
    }
  }
  if (used.tensorflow || used.jax) return;
  used.tensorflow = tensorflow;
  used.jax = xla && !tensorflow;
}

}  // namespace

UsedLibraries libraries_of(const RunProfile& profile) {
  UsedLibraries used;
  if (profile.trace) {
    used.pytorch = profile.trace->framework == Framework::kPyTorch;
    used.tensorflow = profile.trace->framework == Framework::kTensorFlow;
    used.jax = profile.trace->framework == Framework::kJax;
  }
  const double least = kLeastOfTime * profile.stacks.seconds;
  if (profile.stacks.seconds > 0) {
    for (const auto& [folder, library] : kLibraryFiles)
      used.*library = used.*library || seconds_in(profile.stacks, folder) >= least;
    if (used.count() == 0) used.tensorflow = seconds_in(profile.stacks, "keras/") >= least;
  }
  add_by_threads(used, profile);
  return used;
}

}  // namespace unstarve
