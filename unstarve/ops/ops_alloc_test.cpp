// Once a worker's scratch has grown, operations allocate nothing. A separate program, as it replaces malloc.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unstarve/ops/operations.h"
#include "unstarve/ops/store/store.h"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {
std::atomic<long> allocations{0};
}

// The functions that operator new calls, with and without an alignment.
extern "C" {
void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
// Large buffers are mapped directly.
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  ++allocations;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
}

namespace unstarve {
namespace {

TEST_CASE("after the first epoch the operations allocate nothing") {
  const auto crop = make_operation({"random_resized_crop", {{"size", {64}}}});
  const auto flip = make_operation({"horizontal_flip", {}});
  const auto pad = make_operation({"pad_crop", {{"size", {80}}, {"padding", {20}}}});
  const auto resize = make_operation({"resize", {{"size", {70}}}});
  const auto jitter = make_operation({"color_jitter", {}});
  const auto equalize = make_operation({"equalize", {}});
  const auto erasing = make_operation({"erasing", {}});
  const Storer storer({ElementType::kFloat32, Layout::kNchw, kImagenetNormalisation});
  Image image({320, 240});
  std::fill_n(image.data(), image.bytes(), std::uint8_t{7});
  AlignedBytes batch(storer.sample_bytes({200, 200}));
  Scratch scratch;
  const auto epoch = [&] {
    for (std::uint64_t sample = 0; sample < 200; ++sample) {
      Frame frame(image.view());
      Random random(1, 0, sample, 0);
      frame.crop(crop->select(frame.size(), random));
      crop->apply(frame, random, scratch);
      flip->apply(frame, random, scratch);
      pad->apply(frame, random, scratch);
      jitter->apply(frame, random, scratch);
      resize->apply(frame, random, scratch);
      equalize->apply(frame, random, scratch);
      erasing->apply(frame, random, scratch);
      storer.store(frame, batch.data());
    }
  };
  const long before = allocations;
  epoch();
  const long first = allocations - before;
  epoch();
  const long both = allocations - before;
  // The allocations of the first epoch show that the counter works.
  REQUIRE(first > 0);
  REQUIRE(both == first);
}

}  // namespace
}  // namespace unstarve
