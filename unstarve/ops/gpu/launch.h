#pragma once
// Starts the kernel on a CUDA device. Implemented by ../cuda/launch.cu, in builds without CUDA by launch_absent.cpp.
//
// Threads: any, one at a time per stream. Failure: Error(kMemory) or Error(kInternal) with CUDA's message,
// Error(kMissing) in a build without CUDA.

#include "unstarve/device/device.h"
#include "unstarve/ops/gpu/batch_runner.h"
#include "unstarve/ops/gpu/output.h"
#include "unstarve/ops/gpu/program.h"

namespace unstarve::gpu {

// Of the device of `stream`.
[[nodiscard]] int cuda_multiprocessors(Stream& stream);
// Queues the batch. All device memory.
void launch_cuda(const Launch& launch, const BatchProgram& program, const BatchMemory& memory, const Output& output,
                 Stream& stream);

}  // namespace unstarve::gpu
