#include "unstarve/diagnose/profile/roles.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {
namespace {

// They start the programs that train.
constexpr std::array<std::string_view, 17> kLaunchers{"sh",      "bash",  "dash",       "zsh",     "fish",   "env",
                                                      "time",    "nice",  "timeout",    "sudo",    "srun",   "mpirun",
                                                      "mpiexec", "orted", "slurmstepd", "prterun", "numactl"};
// Share of its time in which a process runs, or waits for a core, that does not only wait for its children.
constexpr double kWorks = 0.05;

bool contains(const ProcessUse& process, std::string_view text) {
  return process.command.find(text) != std::string::npos;
}

bool is_launcher(const ProcessUse& process) {
  if (std::ranges::find(kLaunchers, process.name) != kLaunchers.end()) return true;
  for (const std::string_view text : {"torch.distributed.run", "torchrun ", "torch.distributed.launch",
                                      "accelerate launch", "multiprocessing.resource_tracker"})
    if (contains(process, text)) return true;
  return false;
}

bool is_worker_of_torch(const ProcessUse& process) {
  constexpr std::string_view kName = "pt_data_worker";
  return process.name.starts_with(kName) ||
         std::ranges::any_of(process.threads, [&](const ThreadUse& thread) { return thread.name.starts_with(kName); });
}

// Has joined a process group of torch.distributed.
bool is_rank(const ProcessUse& process) {
  return std::ranges::any_of(process.threads, [](const ThreadUse& thread) {
    return thread.name.starts_with("pt_gloo") || thread.name.starts_with("pt_nccl");
  });
}

// The arguments without numbers, which differ between the children of multiprocessing.
std::string without_digits(std::string command) {
  std::erase_if(command, [](char letter) { return letter >= '0' && letter <= '9'; });
  return command;
}

bool is_rank_next_to(const ProcessUse& process, const ProcessUse& main) {
  if (process.parent != main.parent || process.pid == main.pid || process.command.empty()) return false;
  const double shared = std::min(process.end_s, main.end_s) - std::max(process.begin_s, main.begin_s);
  return shared > 0.5 * (main.end_s - main.begin_s) && without_digits(process.command) == without_digits(main.command);
}

class Roles {
 public:
  explicit Roles(std::span<const ProcessUse> processes) {
    for (const ProcessUse& process : processes) {
      if (process.pid != 0) by_pid_[process.pid] = &process;
      if (is_rank(process)) parents_of_ranks_.insert(process.parent);
    }
  }

  // Has started ranks, and is none itself: torch.multiprocessing.spawn().
  [[nodiscard]] bool starts_ranks(const ProcessUse& process) const {
    return parents_of_ranks_.contains(process.pid) && !is_rank(process);
  }

  [[nodiscard]] bool is_server(const ProcessUse& process) const {
    const ProcessUse* const parent = find(process.parent);
    return contains(process, "multiprocessing.forkserver") && (parent == nullptr || parent->command != process.command);
  }
  [[nodiscard]] bool is_loader(const ProcessUse& process) const {
    if (process.pid == 0 || is_launcher(process) || is_server(process)) return false;
    if (is_worker_of_torch(process)) return true;
    if (is_rank(process)) return false;
    const ProcessUse* parent = find(process.parent);
    if (parent == nullptr || is_launcher(*parent)) return false;
    const bool is_fork = !process.command.empty() && process.command == parent->command;
    if (!is_fork && !contains(process, "multiprocessing.spawn")) return false;
    if (is_server(*parent)) parent = find(parent->parent);
    return parent != nullptr && parent->cpu_s + parent->run_delay_s >= kWorks * (parent->end_s - parent->begin_s);
  }

 private:
  [[nodiscard]] const ProcessUse* find(int pid) const {
    const auto found = by_pid_.find(pid);
    return found == by_pid_.end() ? nullptr : found->second;
  }
  std::map<int, const ProcessUse*> by_pid_;
  std::set<int> parents_of_ranks_;
};

}  // namespace

void set_roles(std::span<ProcessUse> processes) {
  const Roles roles(processes);
  const auto may_be_main = [&](const ProcessUse& process) {
    return process.pid != 0 && process.role != ProcessRole::kLoader && !is_launcher(process) &&
           !roles.is_server(process) && !roles.starts_ranks(process);
  };
  double most = 0;
  for (ProcessUse& process : processes) {
    process.role = roles.is_loader(process) ? ProcessRole::kLoader : ProcessRole::kOther;
    if (may_be_main(process)) most = std::max(most, process.cpu_s);
  }
  std::vector<const ProcessUse*> busy;
  for (ProcessUse& process : processes) {
    if (most <= 0 || !may_be_main(process) || (process.cpu_s < most / 2 && !is_rank(process))) continue;
    process.role = ProcessRole::kMain;
    busy.push_back(&process);
  }
  for (ProcessUse& process : processes) {  // a rank that waits for others uses little CPU time
    if (may_be_main(process) &&
        std::ranges::any_of(busy, [&](const ProcessUse* main) { return is_rank_next_to(process, *main); }))
      process.role = ProcessRole::kMain;
  }
}

}  // namespace unstarve
