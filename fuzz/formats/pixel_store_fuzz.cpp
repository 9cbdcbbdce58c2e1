// Arbitrary bytes as the file of a pixel store: looks up all samples, without reading outside of the file, and stores
// one more. The store checks the header first, so each input is used twice: unchanged, and after a valid header.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/cache/pixel_store.h"

namespace {

using namespace unstarve;
namespace fs = std::filesystem;

constexpr std::uint64_t kSamples = 4;
constexpr std::uint64_t kLimit = 1 << 16;

struct File {
  fs::path path;
  std::vector<char> valid;  // the file of a store with two samples
  File() {
    std::string name = (fs::temp_directory_path() / "unstarve-pixels-XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    if (fd < 0) std::abort();
    ::close(fd);
    fs::remove(path = name);
    {
      const auto store = open_pixel_store(path, "key", kSamples, kLimit);
      Image image({5, 4});
      store->put(0, 7, image.view());
      store->put(2, 8, image.view());
    }
    std::ifstream in(path, std::ios::binary);
    valid.assign(std::istreambuf_iterator<char>(in), {});
  }
  ~File() {
    std::error_code failed;
    fs::remove(path, failed);
  }
  void use(const std::vector<char>& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto store = open_pixel_store(path, "key", kSamples, kLimit);
    volatile unsigned sum = 0;
    for (std::uint64_t id = 0; id < kSamples; ++id) {
      const auto found = store->find(id);
      if (!found) continue;
      const PixelView& pixels = found->pixels;
      for (int y = 0; y < pixels.height; ++y)
        for (int x = 0; x < pixels.width; ++x) sum = sum + pixels.at(x, y, 0) + pixels.at(x, y, 2);
    }
    const Image image({3, 2});
    store->put(3, 1, image.view());
    (void)store->find(3);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  try {
    file.use({data, data + size});
    constexpr std::size_t kHeader = 4096;
    std::vector<char> changed = file.valid;
    if (changed.size() > kHeader)
      std::copy_n(data, std::min(size, changed.size() - kHeader), changed.begin() + kHeader);
    file.use(changed);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) __builtin_trap();
  }
  return 0;
}
