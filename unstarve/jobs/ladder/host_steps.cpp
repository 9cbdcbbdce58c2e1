// Steps that set up a process.
#include <fmt/format.h>

#include "unstarve/jobs/ladder/candidates.h"

namespace unstarve {
namespace {

// Host settings belong to a process: each side is measured in a process of its own.
std::string no_host_setting(const LadderContext& context, const std::string& of_user) {
  if (!context.has_network()) return kNoNetwork;
  if (!context.starts_processes) return "only unstarve tune can measure it, in separate processes";
  return of_user;
}

// What the threads of OpenMP do between operators: to wait in a loop starts the next operator sooner, to sleep leaves
// the core to the loader and to other programs.
std::string no_wait_policy(const LadderContext& context, const Settings&) {
  if (context.target.cuda()) return kOperatorsOnGpu;
  if (context.has_network() && context.machine.topology.usable() < 2) return "only one core";
  return no_host_setting(context, wait_policy_of_user(context.host.user));
}

Candidates wait_policies(const LadderContext&, const Settings& current) {
  Candidates list;
  for (const WaitPolicy policy : {WaitPolicy::kPassive, WaitPolicy::kBrief, WaitPolicy::kActive}) {
    if (policy == current.host.wait_policy) continue;
    list.push_back({current, fmt::format("{} -> {}", word_of(current.host.wait_policy), word_of(policy))});
    list.back().settings.host.wait_policy = policy;
  }
  return list;
}

// Operators wait for their slowest thread: a worker thread on the core of one delays all of them.
std::string no_affinity(const LadderContext& context, const Settings& current) {
  if (context.target.cuda()) return kOperatorsOnGpu;
  if (current.host.affinity == Affinity::kSplit) return "already split";
  if (context.has_network() && context.machine.topology.usable() < 2) return "only one core";
  return no_host_setting(context, "");
}

Candidates affinities(const LadderContext& context, const Settings& current) {
  const int usable = context.machine.topology.usable(), now = current.train.operator_threads;
  const int operators = now > 0 && now < usable ? now : usable - 1;
  return edited(current, fmt::format("{} of {} cores for operators, the others for the loader", operators, usable),
                [&](Settings& s) {
                  s.host.affinity = Affinity::kSplit;
                  s.train.operator_threads = operators;
                });
}

void copy_affinity(const Settings& from, Settings& to) {
  to.host.affinity = from.host.affinity;
  to.train.operator_threads = from.train.operator_threads;
}

// Fewer entries of the page tables for heap memory and tensors: fewer misses of the translation cache and page faults.
std::string no_huge_pages(const LadderContext& context, const Settings& current) {
  const std::string& pages = context.machine.transparent_huge_pages;
  if (current.host.huge_pages) return "already requested";
  if (context.has_network() && pages == "always") return "the system uses huge pages for all memory";
  if (context.has_network() && pages != "madvise")
    return "transparent huge pages are off; echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
  return no_host_setting(context, huge_pages_of_user(context.host.user));
}

Candidates huge_pages(const LadderContext&, const Settings& current) {
  return edited(current, "huge pages for heap and tensors", [](Settings& s) { s.host.huge_pages = true; });
}

// Allocators with caches per thread and less contention than that of the C library.
std::string no_allocator(const LadderContext& context, const Settings& current) {
  if (current.host.allocator != HeapAllocator::kSystem)
    return fmt::format("already {}", word_of(current.host.allocator));
  const std::string reason = no_host_setting(context, allocator_of_user(context.host.user));
  if (!reason.empty() || !context.host.allocators.empty()) return reason;
  return "found no jemalloc, tcmalloc or mimalloc; apt-get install libjemalloc2";
}

Candidates allocators(const LadderContext& context, const Settings& current) {
  Candidates list;
  for (const FoundAllocator& found : context.host.allocators) {
    list.push_back({current, fmt::format("{} -> {}", word_of(current.host.allocator), word_of(found.name))});
    list.back().settings.host.allocator = found.name;
  }
  return list;
}

}  // namespace

const LadderStep kWaitPolicyStep{.name = "wait policy",
                                 .not_applicable = no_wait_policy,
                                 .candidates = wait_policies,
                                 .copy = copy_member<&Settings::host, &HostSettings::wait_policy>};

const LadderStep kAffinityStep{
    .name = "affinity", .not_applicable = no_affinity, .candidates = affinities, .copy = copy_affinity};

const LadderStep kHugePagesStep{.name = "huge pages",
                                .not_applicable = no_huge_pages,
                                .candidates = huge_pages,
                                .copy = copy_member<&Settings::host, &HostSettings::huge_pages>};

const LadderStep kAllocatorStep{.name = "allocator",
                                .not_applicable = no_allocator,
                                .candidates = allocators,
                                .copy = copy_member<&Settings::host, &HostSettings::allocator>};

}  // namespace unstarve
