#include "unstarve/torch/step_memory.h"

#include <catch2/catch.hpp>

#include <thread>

#include <c10/core/CPUAllocator.h>
#include <torch/types.h>

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

torch::Tensor bytes_of(std::int64_t size) { return torch::empty({size}, torch::kUInt8); }

}  // namespace

TEST_CASE("in a scope a tensor reuses the memory of an earlier one of about its size") {
  const StepMemory memory;
  const StepMemory::Scope scope;
  torch::Tensor a = bytes_of(16 * kMiB), b = bytes_of(3 * kMiB);
  const void *const large = a.data_ptr(), *const small = b.data_ptr();
  a.reset();
  b.reset();
  const torch::Tensor c = bytes_of(3 * kMiB), d = bytes_of(15 * kMiB), e = bytes_of(7 * kMiB);
  CHECK(c.data_ptr() == small);
  CHECK(d.data_ptr() == large);
  CHECK(e.data_ptr() != large);
}

TEST_CASE("memory in use and kept memory are at most a quarter more than the most that was in use") {
  {
    const StepMemory memory;
    const StepMemory::Scope scope;
    { const torch::Tensor a = bytes_of(64 * kMiB), b = bytes_of(64 * kMiB); }
    const StepMemory::Bytes before = StepMemory::bytes();
    CHECK(before.used == 0);
    CHECK(before.kept == 128 * kMiB);
    const torch::Tensor a = bytes_of(40 * kMiB);
    const StepMemory::Bytes after = StepMemory::bytes();
    CHECK(after.most_used == 128 * kMiB);
    CHECK(after.used == 40 * kMiB);
    CHECK(after.kept == 64 * kMiB);
    CHECK(after.used + after.kept <= StepMemory::most_held(after.most_used));
    const torch::Tensor b = bytes_of(100 * kMiB);
    CHECK(StepMemory::bytes().most_used == 140 * kMiB);
    CHECK(StepMemory::bytes().kept == 0);
  }
  CHECK(StepMemory::bytes().used == 0);
  CHECK(StepMemory::bytes().kept == 0);
}

TEST_CASE("outside of a scope, in other threads and for small tensors libtorch's allocator is used") {
  const StepMemory memory;
  const torch::Tensor outside = bytes_of(8 * kMiB);
  const StepMemory::Scope scope;
  const torch::Tensor small = bytes_of(kMiB / 2);
  std::thread([] { const torch::Tensor other = bytes_of(8 * kMiB); }).join();
  CHECK(StepMemory::bytes().used == 0);
  CHECK(StepMemory::bytes().kept == 0);
}

TEST_CASE("tensors outlive scopes and users of the memory, and other threads may release them") {
  torch::Tensor tensor;
  {
    const StepMemory memory;
    const StepMemory::Scope scope;
    tensor = torch::ones({8 * kMiB}, torch::kUInt8);
  }
  CHECK(tensor.sum().item<std::int64_t>() == 8 * kMiB);
  CHECK(StepMemory::bytes().used == 8 * kMiB);
  std::thread([&] { tensor.reset(); }).join();
  CHECK(StepMemory::bytes().used == 0);
  CHECK(StepMemory::bytes().kept == 0);
}

TEST_CASE("raw memory of either allocator can be returned to the present one") {
  c10::Allocator* const earlier = c10::GetCPUAllocator();
  void* const block = earlier->raw_allocate(2 * kMiB);
  const StepMemory memory;
  const StepMemory::Scope scope;
  c10::GetCPUAllocator()->raw_deallocate(block);
  c10::GetCPUAllocator()->raw_deallocate(c10::GetCPUAllocator()->raw_allocate(2 * kMiB));
  c10::GetCPUAllocator()->raw_deallocate(c10::GetCPUAllocator()->raw_allocate(64));
  CHECK(StepMemory::bytes().kept == 2 * kMiB);
}

}  // namespace unstarve
