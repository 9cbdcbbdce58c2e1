#include "unstarve/jobs/ladder/rung.h"

// Batch slots in page-locked memory: the copy engine reads them directly while the device computes.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (context.target.emulated()) return "an emulated accelerator reads batches from host memory";
  if (!context.target.cuda()) return "the CPU trains on the loader's memory: nothing to copy";
  if (current.pipeline.execution.pinned) return "already pinned";
  return {};
}

std::vector<Candidate> candidates(const RungContext&, const Settings& current) {
  Settings settings = current;
  settings.pipeline.execution.pinned = true;
  return {{settings, "pageable -> pinned, copied asynchronously"}};
}

}  // namespace

const Rung kPinnedMemoryRung{"pinned memory, asynchronous copy", false, false, not_applicable, candidates};

}  // namespace unstarve
