#pragma once
// Starts the kernel on a CUDA device: what ../cuda/launch.cu does, and launch_absent.cpp where there is no CUDA.
//
// Threads: any, one at a time per stream. Failure: Error(kMemory) or Error(kInternal) with CUDA's own words,
// Error(kMissing) in a build without CUDA.

#include <cstdint>

#include "unstarve/device/device.h"
#include "unstarve/ops/gpu/batch_runner.h"
#include "unstarve/ops/gpu/output.h"
#include "unstarve/ops/gpu/program.h"

namespace unstarve::gpu {

// Of the device that `stream` is of.
[[nodiscard]] int cuda_multiprocessors(Stream& stream);
// Queues the batch. All memory is the device's; `scratch`: launch.scratch_bytes.
void launch_cuda(const Launch& launch, const BatchProgram& program, const std::uint8_t* source, const Output& output,
                 std::uint8_t* scratch, Stream& stream);

}  // namespace unstarve::gpu
