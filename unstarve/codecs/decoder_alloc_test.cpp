// Decoding allocates nothing after an image of each kind, encoding nothing after the largest image. A separate program,
// because it replaces malloc to count calls.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/jpeg/encode/jpeg_encoder.h"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {
std::atomic<long> g_allocations{0};
}

// Counts calls and forwards them to glibc: operator new, libjpeg and libpng all allocate through these functions.
extern "C" {
void* malloc(std::size_t bytes) {
  ++g_allocations;
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

TEST_CASE("encoding JPEG allocates nothing after the largest image", "[codecs]") {
  Image large({700, 500});
  for (std::size_t i = 0; i < large.bytes(); ++i) large.data()[i] = static_cast<std::uint8_t>(i * i >> 7);
  PixelView small = large.view();
  small.width = 123;
  small.height = 45;
  JpegEncoder encoder;
  std::vector<std::uint8_t> out;
  encoder.encode(large.view(), 100, ChromaSampling::k444, out);
  const long before = g_allocations;
  for (const auto sampling : {ChromaSampling::k444, ChromaSampling::k422, ChromaSampling::k420}) {
    encoder.encode(small, 100, sampling, out);
    encoder.encode(large.view(), 90, sampling, out);
  }
  CHECK(g_allocations - before == 0);
  CHECK(before > 0);
}

}  // namespace unstarve
