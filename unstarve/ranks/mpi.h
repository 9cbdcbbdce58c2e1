#pragma once
// MPI, loaded when it is first needed: libunstarve_mpi.so is linked with the machine's MPI library, so nothing else
// requires it.
//
//   ranks.cpp ──▶ mpi.cpp ──dlopen──▶ libunstarve_mpi.so (module.cpp) ──▶ libmpi
//
// Threads:   the functions of an MpiWorld are called by one thread at a time, not necessarily always the same.
// Failure:   open_mpi() throws Error(kMissing) if this build has no MPI, or as load_module(). Collectives throw
//            Error(kIo) with MPI's message, for example after another rank has ended.
// Ownership: MPI can be started once per process.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace unstarve {

struct MpiPosition {
  int rank = 0, world = 1;
  int local_rank = 0;  // among the processes of this machine
  int sharing = 1;     // those of them whose affinity masks overlap with that of this process
};

// A rank of this machine.
struct LocalRank {
  int rank = 0;
  int process = 0;         // its id
  bool watchable = false;  // the id is one of the namespace of this process
};

enum class MpiType { kFloat32, kFloat64 };
enum class MpiReduction { kSum, kMaximum };

class MpiWorld {
 public:
  virtual ~MpiWorld() = default;
  [[nodiscard]] virtual MpiPosition position() const = 0;
  // Collectives over host memory: all ranks call the same ones with the same sizes in the same order. Each returns when
  // the result is in the memory.
  virtual void reduce(void* data, std::size_t count, MpiType type, MpiReduction reduction) = 0;
  virtual void broadcast(void* data, std::size_t bytes, int root) = 0;
  // `all`: world x bytes, in the order of ranks.
  virtual void gather(const void* mine, void* all, std::size_t bytes) = 0;
  // All ranks of this machine, including this one, in the order of ranks.
  [[nodiscard]] virtual const std::vector<LocalRank>& local_ranks() const = 0;
  // Announces to the other ranks of this machine that this one ends and reports why, or that it is not needed any more.
  virtual void announce_end() noexcept = 0;
  // Whether one of local_ranks() has announced its end. Any thread, until finish().
  [[nodiscard]] virtual bool announced_end() const noexcept = 0;
  // Ends MPI; all ranks call it. A process that ends without it has failed: mpirun ends all others.
  virtual void finish() = 0;
};

// Starts MPI; waits for all ranks.
[[nodiscard]] std::shared_ptr<MpiWorld> open_mpi();

// The module's table.
struct MpiModule {
  const char* stamp;  // first member, readable in any module
  std::shared_ptr<MpiWorld> (*open)();
};

}  // namespace unstarve

// The exported symbol of the module.
extern "C" const unstarve::MpiModule* unstarve_mpi_module() noexcept;
