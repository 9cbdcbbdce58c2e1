// Counts every heap allocation of the process, C's and C++'s, while the loader runs in its steady state: there must be
// none per sample. A separate program, because it replaces malloc.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/open.h"

namespace {
std::atomic<long> allocations{0};
}

// glibc's allocator by its internal names; all allocations of the process pass through here.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, bytes);
}
// Large buffers are mapped directly.
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *result = __libc_memalign(alignment, bytes);
  return *result ? 0 : 12;
}
}

namespace unstarve {
namespace {

// Baseline and restart-free JPEGs of different sizes and samplings.
class Photographs final : public Dataset {
 public:
  Photographs() {
    for (int i = 0; i < 24; ++i) {
      Image image({200 + 13 * i, 300 - 7 * i});
      for (std::size_t k = 0; k < image.bytes(); ++k) image.data()[k] = static_cast<std::uint8_t>(k * k >> (i % 5));
      files_.push_back(encode_jpeg(image.view(), 90, i % 2 ? ChromaSampling::k420 : ChromaSampling::k444));
    }
  }
  std::string format() const override { return "photographs"; }
  std::uint64_t size() const override { return files_.size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::uint64_t stored_bytes() const override { return 0; }
  RecordLocation record_location(std::uint64_t id) const override { return {.file = "photograph", .number = id}; }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    record.values.resize(2);
    record.values[0].bytes = files_[static_cast<std::size_t>(id)];
  }

 private:
  std::vector<std::vector<std::uint8_t>> files_;
  std::vector<Field> fields_{{"image", FieldKind::kEncodedImage}, {"label", FieldKind::kLabel}};
  std::vector<std::string> classes_;
};

long allocations_of_one_epoch(std::shared_ptr<const Dataset> dataset, PipelineSpec spec, int warm_epochs) {
  const auto device = open_device("cpu");
  Loader loader(spec, std::move(dataset), *device, {});
  const auto epoch = [&] {
    for (;;) {
      const auto batch = loader.next();
      REQUIRE(batch);
      if (batch->last_of_epoch()) return;
    }
  };
  for (int i = 0; i < warm_epochs; ++i) epoch();
  const long before = allocations;
  epoch();
  return allocations - before;
}

TEST_CASE("the counter detects allocations") {
  const long before = allocations;
  std::unique_ptr<int> volatile_use(new int(3));
  free(malloc(10));
  CHECK(allocations >= before + 2);
}

TEST_CASE("photographs are loaded without allocations") {
  PipelineSpec spec;
  spec.operations = training_operations(96, {200, 200});
  spec.output.type = ElementType::kFloat32;
  spec.batch = {8, LastBatch::kDrop};
  spec.execution = {1, 0, false};
  // One worker, so that after enough epochs of random crops its scratch memory has nearly its maximum size.
  const auto photographs = std::make_shared<Photographs>();
  CHECK(allocations_of_one_epoch(photographs, spec, 60) == 0);
  spec.operations = evaluation_operations(96);
  CHECK(allocations_of_one_epoch(photographs, spec, 3) == 0);
}

TEST_CASE("stored pixels are loaded without allocations on several threads") {
  PipelineSpec spec;
  spec.operations = training_operations(32, {32, 32});
  spec.batch = {64, LastBatch::kDrop};
  spec.execution = {3, 2, false};
  // "synthetic" draws into the storage of the record at every read and allocates nothing. A worker allocates scratch
  // memory for its first sample, which it may get late on a busy machine, hence many epochs before.
  CHECK(allocations_of_one_epoch(open_dataset("synthetic:classes=10,images=512,size=32,seed=1"), spec, 200) == 0);
}

}  // namespace
}  // namespace unstarve
