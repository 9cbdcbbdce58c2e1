#pragma once
// A backend of c10d over MPI, for tensors on the CPU: what the Reducer and Exchange use (allreduce, broadcast,
// allgather). libtorch's wheels have none.
//
//   caller ──queue──▶ thread of the backend ──▶ MpiWorld ──▶ the Work and its Future are completed
//
// The operations run in the order of the calls, which must be the same on all ranks, while the caller continues.
//
// Threads:   any. Failure: a failed operation sets the exception of its Work and Future. Calls throw c10::Error for
//            tensors that are not contiguous on the CPU, and for types or reductions that MpiWorld does not have.
// Ownership: the destructor completes the queue.

#include <memory>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "unstarve/ranks/mpi.h"

namespace unstarve {

[[nodiscard]] c10::intrusive_ptr<c10d::Backend> make_mpi_backend(std::shared_ptr<MpiWorld> world);

}  // namespace unstarve
