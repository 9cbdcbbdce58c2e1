// The training stops while a function of the program evaluates the network.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/own_loop.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_evaluation_stall(const RunProfile& profile) {
  constexpr double kLeast = 0.05, kMost = 0.8;  // a program that only evaluates does not stop a training
  const PythonStacks& stacks = profile.stacks;
  if (stacks.seconds <= 0) return std::nullopt;
  const CodeLine* most = nullptr;  // the first one: stacks with most time are first
  double share = 0;
  for (const StackUse& stack : stacks.stacks) {
    if (stack.thread != StackThread::kMain) continue;
    const CodeLine* const line = evaluating_line(stacks, stack);
    if (line == nullptr) continue;
    if (computes_gradients(stacks, stack)) return std::nullopt;  // a function that only has such a name
    if (most == nullptr) most = line;
    share += stack.seconds / stacks.seconds;
  }
  if (share < kLeast || share > kMost) return std::nullopt;
  RunFinding finding;
  finding.title = "evaluation stops the training";
  finding.evidence = fmt::format("the main thread is in {}() for {:.0f} % of the time, at {}", most->function,
                                 100 * share, to_string(*most));
  const std::string rarely = "evaluate less often, on fewer samples or with larger batches without gradients";
  const std::string other = "; or evaluate checkpoints in another process";
  finding.changes = {rarely + other, rarely + " (torch.inference_mode())" + other,
                     rarely + " (model.fit(validation_freq=N, validation_batch_size=M))" + other, rarely + other,
                     "evaluate less often: unstarve train --evaluate-every N"};
  finding.gain = gain_without(share, stacks.seconds);
  finding.lost = share;
  return finding;
}

}  // namespace

const Rule kEvaluationStall{
    "evaluation-stall",
    "the main thread is in functions of the program whose names begin with eval, valid or test for 5 to 80 % of the "
    "time, and never computes gradients there",
    find_evaluation_stall};

}  // namespace unstarve
