// The kernels: threads, blocks and barriers around run_program.h, which has the arithmetic.
#include "unstarve/ops/gpu/launch.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/ops/gpu/run_program.h"

namespace unstarve::gpu {
namespace {

constexpr int kWarp = 32;
constexpr int kMaxWarps = 32;
constexpr unsigned kMaxBlocksY = 65'535;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw Error(status == cudaErrorMemoryAllocation ? ErrorKind::kMemory : ErrorKind::kInternal,
              std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

int make_current(cudaStream_t stream) {
  int device = 0;
  check(cudaStreamGetDevice(stream, &device), "get the device of a stream");
  check(cudaSetDevice(device), "set the stream's device");
  return device;
}

struct Shared {
  Counts counts;
  unsigned long long warp_sums[kMaxWarps];
};

// The threads of a block.
class BlockTeam {
 public:
  __device__ explicit BlockTeam(Shared& shared) : shared_(shared) {}

  template <class F>
  __device__ void each(std::uint32_t count, const F& f) {
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) f(i);
    __syncthreads();
  }
  template <class F>
  __device__ std::uint64_t sum(std::uint32_t count, const F& f) {
    unsigned long long mine = 0;
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) mine += f(i);
    for (int away = kWarp / 2; away > 0; away /= 2) mine += __shfl_down_sync(0xFFFF'FFFF, mine, away);
    if (threadIdx.x % kWarp == 0) shared_.warp_sums[threadIdx.x / kWarp] = mine;
    __syncthreads();
    unsigned long long total = 0;
    for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) total += shared_.warp_sums[warp];
    __syncthreads();  // before the next sum writes
    return total;
  }
  __device__ static void add(std::uint32_t& to, std::uint32_t more) { atomicAdd(&to, more); }
  [[nodiscard]] __device__ Counts& counts() const { return shared_.counts; }

 private:
  Shared& shared_;
};

// For batches of one pass: blocks in x share the pixels of a sample, blocks in y the samples.
__global__ void __launch_bounds__(256) single_pass_kernel(BatchProgram program, BatchMemory memory, Output output) {
  const auto width = static_cast<std::uint32_t>(output.size.width);
  const std::uint32_t pixels = width * static_cast<std::uint32_t>(output.size.height);
  for (std::int64_t sample = blockIdx.y; sample < program.count; sample += gridDim.y) {
    const SampleProgram& of = program.samples[sample];
    const Task task{program, memory.source + of.source, nullptr};
    const std::int32_t layer = program.commands[of.first_command].layer;
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x) {
      const auto x = static_cast<std::int32_t>(i % width), y = static_cast<std::int32_t>(i / width);
      store_pixel(output, sample, x, y, read_layer(task, layer, x, y));
    }
  }
}

// Each block is a team with its own scratch memory and processes sample after sample.
__global__ void __launch_bounds__(512, 2) team_kernel(BatchProgram program, BatchMemory memory, Output output) {
  __shared__ Shared shared;
  BlockTeam team(shared);
  for (std::int64_t sample = blockIdx.x; sample < program.count; sample += gridDim.x) {
    const Task task{program, memory.source + program.samples[sample].source,
                    memory.scratch + blockIdx.x * program.scratch.bytes()};
    run_sample(task, sample, output, team);
  }
}

}  // namespace

int cuda_multiprocessors(Stream& stream) {
  const int device = make_current(static_cast<cudaStream_t>(stream.native()));
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "get the number of multiprocessors");
  return count;
}

void launch_cuda(const Launch& launch, const BatchProgram& program, const BatchMemory& memory, const Output& output,
                 Stream& stream) {
  const auto native = static_cast<cudaStream_t>(stream.native());
  (void)make_current(native);
  const auto threads = static_cast<unsigned>(launch.threads);
  if (launch.teams) {
    team_kernel<<<static_cast<unsigned>(launch.blocks), threads, 0, native>>>(program, memory, output);
  } else {
    const auto samples = static_cast<unsigned>(std::min<std::int64_t>(program.count, kMaxBlocksY));
    const dim3 grid(static_cast<unsigned>(launch.blocks_per_sample), samples);
    single_pass_kernel<<<grid, threads, 0, native>>>(program, memory, output);
  }
  check(cudaGetLastError(), "launch the kernel of a batch's operations");
}

}  // namespace unstarve::gpu
