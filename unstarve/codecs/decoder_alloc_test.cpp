// Decoding allocates nothing after an image of each kind; encoding survives failing allocations. A separate program,
// because it replaces malloc.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {
std::atomic<long> g_allocations{0};
std::atomic<long> g_failing{-1};  // the value of g_allocations at which malloc fails
}  // namespace

// Counts calls and forwards them to glibc: operator new, libjpeg and libpng all allocate through these functions.
extern "C" {
void* malloc(std::size_t bytes) {
  if (g_allocations++ == g_failing) return nullptr;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++g_allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  ++g_allocations;
  return __libc_realloc(memory, bytes);
}
// Large buffers are mapped directly.
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  ++g_allocations;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++g_allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  ++g_allocations;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? 12 : 0;
}
}

namespace unstarve {
namespace {

std::vector<std::uint8_t> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("decoding allocates nothing after one image of every kind", "[codecs]") {
  const std::string corpus = "fuzz/corpus/";
  std::vector<std::vector<std::uint8_t>> files;
  for (const char* name : {"jpeg/444.jpg", "jpeg/420.jpg", "jpeg/progressive_420.jpg", "jpeg/grey.jpg", "jpeg/cmyk.jpg",
                           "jpeg/orientation_6.jpg", "png/rgb.png", "png/palette.png", "png/rgba.png"}) {
    files.push_back(read(corpus + name));
  }
  Image large({700, 500});
  for (std::size_t i = 0; i < large.bytes(); ++i) large.data()[i] = static_cast<std::uint8_t>(i * i >> 7);
  files.push_back(encode_jpeg(large.view(), 90));
  files.push_back(encode_png(large.view()));

  Decoder decoder;
  Image out;
  const auto decode_all = [&] {
    for (const auto& bytes : files) {
      const ImageHeader header = decoder.open(bytes);
      decoder.decode({}, out);
      decoder.open(bytes);
      decoder.decode(
          {{header.size.width / 3, header.size.height / 3, header.size.width / 2, header.size.height / 2}, 1}, out);
    }
  };
  decode_all();
  decode_all();
  const long before = g_allocations;
  decode_all();
  CHECK(g_allocations - before == 0);
  CHECK(before > 0);
}

TEST_CASE("a JPEG encoder that runs out of memory encodes the next image", "[codecs]") {
  Image image({70, 50});
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(i * i >> 7);
  const long before = g_allocations;
  const std::vector<std::uint8_t> expected = encode_jpeg(image.view(), 90);
  const long allocations = g_allocations - before;
  int failures = 0;
  bool repaired = true;
  // libjpeg answers some failed allocations by a smaller request, so not each of them fails.
  for (long failing = 0; failing < allocations; ++failing) {
    std::vector<std::uint8_t> out;
    JpegEncoder encoder;
    g_failing = g_allocations + failing;
    try {
      encoder.encode(image.view(), 90, ChromaSampling::k420, out);
    } catch (const std::bad_alloc&) {
      ++failures;
    } catch (const Error& error) {
      failures += error.kind() == ErrorKind::kMemory ? 1 : 0;
    }
    g_failing = -1;
    encoder.encode(image.view(), 90, ChromaSampling::k420, out);
    repaired = repaired && out == expected;
  }
  CHECK(failures >= 4);
  CHECK(repaired);
}

}  // namespace unstarve
