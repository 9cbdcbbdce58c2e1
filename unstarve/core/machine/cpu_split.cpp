#include "unstarve/core/machine/cpu_split.h"

#include <sched.h>

#include <cerrno>

#include <fmt/format.h>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

// CPUs of a cpu_set_t, which the system's own mask may exceed.
constexpr std::size_t kCpusOfSet = CPU_SETSIZE;

int set_cpus(const std::vector<int>& cpus) {
  std::vector<cpu_set_t> mask(static_cast<std::size_t>(cpus.back()) / kCpusOfSet + 1);
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, mask.data());
  return ::sched_setaffinity(0, bytes, mask.data());
}

void require_cpus(const std::vector<int>& cpus) {
  if (set_cpus(cpus) != 0) throw io_error("set", fmt::format("the CPUs of a thread, from {}", cpus.front()), errno);
}

}  // namespace

std::vector<int> cpus_of_thread() {
  // The size of the kernel's mask is unknown; EINVAL means that ours is too short.
  for (std::size_t sets = 1; sets <= 1024; sets *= 4) {
    std::vector<cpu_set_t> mask(sets);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) != 0) continue;
    std::vector<int> cpus;
    for (std::size_t cpu = 0; cpu < sets * kCpusOfSet; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, mask.data())) cpus.push_back(static_cast<int>(cpu));
    return cpus;
  }
  return {};
}

CpuSplit::CpuSplit(int operators) : all_(cpus_of_thread()) {
  if (operators < 1 || all_.size() <= static_cast<std::size_t>(operators))
    throw argument_error(
        "affinity split: found {} operator threads and {} CPUs; expected at least one operator thread, and one CPU "
        "more for the loader. Change --operator-threads",
        operators, all_.size());
  operators_.assign(all_.begin(), all_.begin() + operators);
  loader_.assign(all_.begin() + operators, all_.end());
  require_cpus(operators_);
}

CpuSplit::~CpuSplit() { (void)set_cpus(all_); }

CpuSplit::LoaderScope::LoaderScope(const CpuSplit* split) : split_(split) {
  if (split_ != nullptr) require_cpus(split_->loader_);
}

CpuSplit::LoaderScope::~LoaderScope() {
  if (split_ != nullptr) (void)set_cpus(split_->operators_);
}

}  // namespace unstarve
