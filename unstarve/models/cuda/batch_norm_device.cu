// The kernels of batch normalisation: threads and barriers around batch_norm_blocks.h, which has the arithmetic.
#include "unstarve/models/kernels/batch_norm_device.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <string>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next call would report it again
  throw Error(ErrorKind::kInternal,
              std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

// The threads of a block.
struct BlockTeam {
  template <class F>
  __device__ void each(const F& f) const {
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
};

__device__ NormBlock this_block() { return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y)}; }

template <int kCount, class T>
__global__ void __launch_bounds__(NormGrid::kThreads) moments_kernel(NormGrid grid, const T* x, float* parts) {
  __shared__ float shared[kNormShared<kCount>];
  BlockTeam team;
  moments_block<kCount>(team, grid, this_block(), x, {shared, parts});
}

__global__ void __launch_bounds__(NormGrid::kJoinThreads) join_moments_kernel(NormGrid grid, NormStatistics to) {
  __shared__ double shared[NormGrid::kJoinThreads];
  BlockTeam team;
  join_moments_block(team, grid, static_cast<int>(blockIdx.x), to, shared);
}

template <int kCount, class T>
__global__ void __launch_bounds__(NormGrid::kThreads) normalise_kernel(NormGrid grid, NormTensors<T> pass) {
  BlockTeam team;
  normalise_block<kCount>(team, grid, this_block(), pass);
}

template <int kCount, class T>
__global__ void __launch_bounds__(NormGrid::kThreads)
    gradients_kernel(NormGrid grid, NormTensors<T> pass, float* parts) {
  __shared__ float shared[kNormShared<kCount>];
  BlockTeam team;
  gradients_block<kCount>(team, grid, this_block(), pass, {shared, parts});
}

__global__ void __launch_bounds__(NormGrid::kJoinThreads) join_gradients_kernel(NormGrid grid, NormSums to) {
  __shared__ double shared[2 * NormGrid::kJoinThreads];
  BlockTeam team;
  join_gradients_block(team, grid, static_cast<int>(blockIdx.x), to, shared);
}

template <int kCount, class T>
__global__ void __launch_bounds__(NormGrid::kThreads) input_gradient_kernel(NormGrid grid, NormTensors<T> pass) {
  BlockTeam team;
  input_gradient_block<kCount>(team, grid, this_block(), pass);
}

// Calls start(T(), the number of channels per thread as a type) for the elements of the launch.
template <int kCount>
struct Count {
  static constexpr int kValue = kCount;
};
template <class T, class Start>
void start_for(const NormLaunch& launch, const Start& start) {
  constexpr int kVector = 16 / static_cast<int>(sizeof(T));
  if (launch.grid.vector == kVector) return start(T(), Count<kVector>());
  start(T(), Count<1>());
}
template <class Start>
void start_kernels(const NormLaunch& launch, const Start& start) {
  // libtorch has a CUDA runtime of its own, whose current device this one does not know.
  check(cudaSetDevice(launch.device), "set the device of a batch norm");
  switch (launch.type) {
    case NormElement::kFloat32: start_for<float>(launch, start); break;
    case NormElement::kFloat16: start_for<__half>(launch, start); break;
    case NormElement::kBfloat16: start_for<__nv_bfloat16>(launch, start); break;
  }
  check(cudaGetLastError(), "start the kernels of a batch norm");
}

dim3 blocks_of(const NormGrid& grid) {
  return {static_cast<unsigned>(grid.channel_blocks), static_cast<unsigned>(grid.row_blocks)};
}
cudaStream_t stream_of(const NormLaunch& launch) { return static_cast<cudaStream_t>(launch.stream); }

}  // namespace

bool has_device_norm() noexcept { return true; }

void device_moments(const NormLaunch& launch, const void* x, const NormStatistics& statistics) {
  start_kernels(launch, [&](auto element, auto count) {
    using T = decltype(element);
    moments_kernel<decltype(count)::kValue><<<blocks_of(launch.grid), NormGrid::kThreads, 0, stream_of(launch)>>>(
        launch.grid, static_cast<const T*>(x), statistics.parts);
    join_moments_kernel<<<launch.grid.join_blocks(), NormGrid::kJoinThreads, 0, stream_of(launch)>>>(launch.grid,
                                                                                                     statistics);
  });
}

void device_normalise(const NormLaunch& launch, const NormForward& pass) {
  start_kernels(launch, [&](auto element, auto count) {
    using T = decltype(element);
    normalise_kernel<decltype(count)::kValue>
        <<<blocks_of(launch.grid), NormGrid::kThreads, 0, stream_of(launch)>>>(launch.grid, tensors_of<T>(pass));
  });
}

void device_sum_gradients(const NormLaunch& launch, const NormBackward& pass, const NormSums& sums) {
  start_kernels(launch, [&](auto element, auto count) {
    using T = decltype(element);
    gradients_kernel<decltype(count)::kValue><<<blocks_of(launch.grid), NormGrid::kThreads, 0, stream_of(launch)>>>(
        launch.grid, tensors_of<T>(pass, pass.g), sums.parts);
    join_gradients_kernel<<<launch.grid.join_blocks(), NormGrid::kJoinThreads, 0, stream_of(launch)>>>(launch.grid,
                                                                                                       sums);
  });
}

void device_input_gradient(const NormLaunch& launch, const NormBackward& pass) {
  start_kernels(launch, [&](auto element, auto count) {
    using T = decltype(element);
    input_gradient_kernel<decltype(count)::kValue>
        <<<blocks_of(launch.grid), NormGrid::kThreads, 0, stream_of(launch)>>>(launch.grid,
                                                                               tensors_of<T>(pass, pass.dx));
  });
}

}  // namespace unstarve
