#include "unstarve/diagnose/rules/own_loop.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

template <class Counts>
bool any_line(const PythonStacks& stacks, const StackUse& stack, const Counts& counts) {
  return std::ranges::any_of(stack.lines,
                             [&](int index) { return counts(stacks.lines[static_cast<std::size_t>(index)]); });
}

// An optimizer, or a function or file of the program whose name says that it trains.
bool has_name_of_training(const CodeLine& line) {
  if (is_library(line)) return line.file.starts_with("torch/optim/") || line.file.starts_with("optax/");
  const std::string file = std::filesystem::path(line.file).filename().string();
  return line.function.starts_with("train") || line.function.starts_with("fit") ||
         file.find("train") != std::string::npos;
}

// Decodes images or changes them on the CPU; operations of torchvision may be on tensors of a GPU.
bool is_image_work(const PythonStacks& stacks, const StackUse& stack) {
  const Activity activity = activity_of(stacks, stack);
  return activity == Activity::kDecode ||
         (activity == Activity::kPixels &&
          any_line(stacks, stack, [](const CodeLine& line) { return line.file.find("PIL/") != std::string::npos; }));
}

// The main thread without what it does to evaluate.
PythonStacks training_stacks(const PythonStacks& stacks) {
  const auto evaluates = [&](const StackUse& stack) {
    return stack.thread == StackThread::kMain && evaluating_line(stacks, stack) != nullptr;
  };
  const bool only_a_name = std::ranges::any_of(
      stacks.stacks, [&](const StackUse& stack) { return evaluates(stack) && computes_gradients(stacks, stack); });
  PythonStacks result = stacks;
  if (!only_a_name) std::erase_if(result.stacks, evaluates);
  return result;
}

bool is_training(const RunProfile& profile, const PythonStacks& stacks) {
  if (profile.steps.source == "un.step()") return true;
  return std::ranges::any_of(stacks.stacks, [&](const StackUse& stack) {
    return stack.thread == StackThread::kMain &&
           (computes_gradients(stacks, stack) || any_line(stacks, stack, has_name_of_training));
  });
}

// The innermost line of the program itself; nullptr: there is none.
const CodeLine* own_line(const PythonStacks& stacks, const StackUse& stack) {
  const auto found = std::find_if(stack.lines.rbegin(), stack.lines.rend(), [&](int index) {
    return !is_library(stacks.lines[static_cast<std::size_t>(index)]);
  });
  return found == stack.lines.rend() ? nullptr : &stacks.lines[static_cast<std::size_t>(*found)];
}

std::string function_of(const CodeLine* line) { return line == nullptr ? "" : line->file + ":" + line->function; }

bool computes(const PythonStacks& stacks, const StackUse& stack) {
  return any_line(stacks, stack, [](const CodeLine& line) {
    return line.file.starts_with("torch/") || line.file.starts_with("tensorflow/") || line.file.starts_with("keras/") ||
           line.file.starts_with("jax/");
  });
}

// Whether it loads in the first half of the run, but not later, while it trains. Work on images releases the
// interpreter's lock: recordings of its holder show the functions around it.
bool loads_only_at_start(const RunProfile& profile, const PythonStacks& stacks) {
  std::set<std::string> loading, computing;
  for (const StackUse& stack : stacks.stacks) {
    if (stack.thread != StackThread::kMain) continue;
    const bool images = is_image_work(stacks, stack);
    if (images) loading.insert(function_of(own_line(stacks, stack)));
    if (!images && computes(stacks, stack)) computing.insert(function_of(own_line(stacks, stack)));
  }
  double loading_s = 0, latest_s = 0;
  for (const StackUse& stack : stacks.stacks) {
    if (stack.thread != StackThread::kMain) continue;
    latest_s = std::max(latest_s, stack.last_s);
    const std::string function = function_of(own_line(stacks, stack));
    const bool loads = loading.contains(function) && !computing.contains(function);
    if (loads || is_image_work(stacks, stack)) loading_s = std::max(loading_s, stack.last_s);
  }
  return loading_s < latest_s && loading_s < 0.5 * profile.watching.seconds;
}

double image_share(const PythonStacks& stacks, StackThread thread) {
  double seconds = 0;
  for (const StackUse& stack : stacks.stacks)
    if (stack.thread == thread && is_image_work(stacks, stack)) seconds += stack.seconds;
  return seconds / stacks.seconds;
}

}  // namespace

const CodeLine* evaluating_line(const PythonStacks& stacks, const StackUse& stack) {
  const auto found = std::ranges::find_if(stack.lines, [&](int index) {
    const CodeLine& line = stacks.lines[static_cast<std::size_t>(index)];
    const std::string& name = line.function;
    return !is_library(line) && (name.starts_with("eval") || name.starts_with("valid") || name.starts_with("test"));
  });
  return found == stack.lines.end() ? nullptr : &stacks.lines[static_cast<std::size_t>(*found)];
}

bool computes_gradients(const PythonStacks& stacks, const StackUse& stack) {
  return any_line(stacks, stack, [](const CodeLine& line) { return computes_gradients(line); });
}

double own_loading_share(const RunProfile& profile) {
  constexpr double kLeast = 0.05;
  if (profile.stacks.seconds <= 0 || sum_of(profile, ProcessRole::kLoader).processes > 0) return 0;
  if (image_share(profile.stacks, StackThread::kMain) < kLeast) return 0;
  const PythonStacks stacks = training_stacks(profile.stacks);
  const double images = image_share(stacks, StackThread::kMain);
  if (images < kLeast || image_share(stacks, StackThread::kHelper) >= images) return 0;
  if (!is_training(profile, stacks) || loads_only_at_start(profile, stacks)) return 0;
  return loading_share(stacks);
}

double own_share(const RunProfile& profile, Activity activity) {
  return own_loading_share(profile) > 0 ? share_of(training_stacks(profile.stacks), StackThread::kMain, activity) : 0;
}

HotLine own_loading_line(const RunProfile& profile) {
  const HotLine decode = caller_of(profile.stacks, StackThread::kMain, Activity::kDecode),
                pixels = caller_of(profile.stacks, StackThread::kMain, Activity::kPixels);
  return decode.share >= pixels.share ? decode : pixels;
}

}  // namespace unstarve
