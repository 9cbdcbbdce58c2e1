#pragma once
// The processes that train one network together, called ranks, as their launcher started them.
//
//   torchrun ──▶ python -m unstarve train ──▶ process group of torch: Gloo on CPUs, NCCL on GPUs
//   mpirun, srun ──▶ unstarve train ──▶ MPI (mpi.h) on CPUs, NCCL on GPUs
//
// Threads: any. Failure: Error(kArgument) for variables of a launcher that are invalid; Error(kMissing), as open_mpi(),
//          if MPI cannot be loaded, and under torchrun outside of `python -m unstarve`.

#include <memory>
#include <string>

namespace unstarve {

class MpiWorld;

// Environment variable with Ranks::group, set by `python -m unstarve train` under torchrun.
inline constexpr const char* kTorchGroupVariable = "UNSTARVE_PROCESS_GROUP";

enum class Launcher { kNone, kTorchrun, kMpi };

struct Ranks {
  Launcher launcher = Launcher::kNone;
  int rank = 0;   // 0 <= rank < world. Rank 0 reports and writes checkpoints
  int world = 1;  // number of ranks
  // Among the ranks of this machine.
  int local_rank = 0;
  int sharing = 1;                // those that may run on the CPU cores of this rank, including itself
  std::string group;              // kTorchrun: the name of the process group in torch's registry
  std::shared_ptr<MpiWorld> mpi;  // kMpi

  [[nodiscard]] bool several() const { return world > 1; }
  [[nodiscard]] bool first() const { return rank == 0; }
};

// From the environment variables of the launchers. A process that was started alone, or as the only one, is kNone.
[[nodiscard]] Launcher launcher_of_environment();

// The number of processes according to these variables, before they have joined; 1 if they do not say.
[[nodiscard]] int world_of_environment();

// The rank of this process according to these variables, before it has joined; 0 if they do not say, or it is alone.
[[nodiscard]] int rank_of_environment();

// Joins the other ranks; waits for them under MPI. Call it once per process.
[[nodiscard]] Ranks join_ranks();

// The number of CPU cores for one rank, at least 1: those that this process may use, divided by the ranks that share
// them. Launchers that bind processes to cores leave nothing to share.
[[nodiscard]] int cores_of_rank(const Ranks& ranks);

// The name of a rank's device: with several ranks, "cuda" is the GPU of its number on the machine.
[[nodiscard]] std::string device_of_rank(const std::string& name, const Ranks& ranks);

// "rank 1 of 4: "; "" for a single process.
[[nodiscard]] std::string rank_prefix(const Ranks& ranks);

}  // namespace unstarve
