#pragma once
// Batch normalisation on a GPU: the blocks of batch_norm_blocks.h as kernels. Implemented by cuda/batch_norm_device.cu,
// in builds without CUDA by batch_norm_device_absent.cpp. Tests run the work
// of each block on the host, too.
//
// All memory is that of the device. Calls only queue kernels, and allocate nothing.
// Threads: any. Failure: Error(kInternal) with CUDA's message, Error(kMissing) in a build without CUDA.

#include "unstarve/models/kernels/batch_norm_blocks.h"

namespace unstarve {

[[nodiscard]] bool has_device_norm() noexcept;

struct NormLaunch {
  NormGrid grid{};
  NormElement type = NormElement::kFloat32;
  int device = 0;
  void* stream = nullptr;  // of CUDA
};

// `parts` have NormGrid::workspace() values. Pointers of NormForward and NormBackward are to values of the launch's
// type.
void device_moments(const NormLaunch& launch, const void* x, const NormStatistics& statistics);
void device_normalise(const NormLaunch& launch, const NormForward& pass);
void device_sum_gradients(const NormLaunch& launch, const NormBackward& pass, const NormSums& sums);
void device_input_gradient(const NormLaunch& launch, const NormBackward& pass);

}  // namespace unstarve
