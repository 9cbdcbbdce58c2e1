#include "unstarve/ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/ranks/mpi.h"

namespace unstarve {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

int number_of(const char* name) {
  const std::string_view text = variable(name);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    throw Error(ErrorKind::kArgument,
                fmt::format("train: environment variable {}: found \"{}\"; expected a number from 0", name, text));
  return number;
}

bool is_several(std::string_view world) { return !world.empty() && world != "1"; }

Ranks torchrun_ranks() {
  Ranks ranks;
  ranks.launcher = Launcher::kTorchrun;
  ranks.rank = number_of("RANK");
  ranks.world = number_of("WORLD_SIZE");
  ranks.local_rank = number_of("LOCAL_RANK");
  ranks.sharing = number_of("LOCAL_WORLD_SIZE");
  if (ranks.rank >= ranks.world || ranks.local_rank >= ranks.sharing)
    throw Error(ErrorKind::kArgument,
                fmt::format("train: found RANK={} of WORLD_SIZE={}, LOCAL_RANK={} of LOCAL_WORLD_SIZE={}; expected "
                            "ranks below the numbers of processes",
                            ranks.rank, ranks.world, ranks.local_rank, ranks.sharing));
  ranks.group = variable(kTorchGroupVariable);
  if (ranks.group.empty())
    throw Error(ErrorKind::kMissing,
                "train: found the environment of torchrun; expected the Python package, which has torch's process "
                "group. Start it with torchrun --nproc-per-node N -m unstarve train ...");
  return ranks;
}

// Without PMIx or PMI, MPI would end the process with a message about its build.
void check_srun() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (!variable(name).empty()) return;
  const std::string_view task = variable("SLURM_PROCID");
  if (!task.empty() && task != "0") throw Error(ErrorKind::kArgument, "");  // the first task reports the error
  throw Error(ErrorKind::kArgument,
              fmt::format("train: srun started {} processes without MPI; expected all of them in one MPI world. Start "
                          "with srun --mpi=pmix, or mpirun",
                          variable("SLURM_STEP_NUM_TASKS")));
}

}  // namespace

Launcher launcher_of_environment() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (is_several(variable(name))) return Launcher::kMpi;
  if (is_several(variable("WORLD_SIZE"))) return Launcher::kTorchrun;
  if (is_several(variable("SLURM_STEP_NUM_TASKS"))) return Launcher::kMpi;
  return Launcher::kNone;
}

int world_of_environment() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const std::string_view text = variable(name);
    int world = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), world).ec == std::errc() && world > 1) return world;
  }
  return 1;
}

int rank_of_environment() {
  if (launcher_of_environment() == Launcher::kNone) return 0;
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"}) {
    const std::string_view text = variable(name);
    int rank = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), rank).ec == std::errc() && rank > 0) return rank;
  }
  return 0;
}

Ranks join_ranks() {
  switch (launcher_of_environment()) {
    case Launcher::kNone: break;
    case Launcher::kTorchrun: return torchrun_ranks();
    case Launcher::kMpi: {
      check_srun();
      const std::shared_ptr<MpiWorld> mpi = open_mpi();
      const MpiPosition position = mpi->position();
      if (position.world == 1)
        throw Error(ErrorKind::kArgument,
                    fmt::format("train: MPI found one process, but the launcher started several; expected all of them "
                                "in one MPI world. Start with srun --mpi=pmix, or mpirun"));
      return {Launcher::kMpi, position.rank, position.world, position.local_rank, position.sharing, "", mpi};
    }
  }
  return {};
}

int cores_of_rank(const Ranks& ranks) { return std::max(1, read_topology().usable() / ranks.sharing); }

std::string device_of_rank(const std::string& name, const Ranks& ranks) {
  return name == "cuda" && ranks.several() ? fmt::format("{}:{}", name, ranks.local_rank) : name;
}

std::string rank_prefix(const Ranks& ranks) {
  return ranks.several() ? fmt::format("rank {} of {}: ", ranks.rank, ranks.world) : "";
}

}  // namespace unstarve
