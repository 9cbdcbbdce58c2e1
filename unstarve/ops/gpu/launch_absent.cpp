// For builds without CUDA, in which open_device() returns no device that needs these functions.
#include "unstarve/core/format_error.h"
#include "unstarve/ops/gpu/launch.h"

namespace unstarve::gpu {

int cuda_multiprocessors(Stream&) { throw missing_error("operations on a GPU: this build has no CUDA"); }

void launch_cuda(const Launch&, const BatchProgram&, const BatchMemory&, const Output&, Stream&) {
  throw missing_error("operations on a GPU: this build has no CUDA");
}

}  // namespace unstarve::gpu
