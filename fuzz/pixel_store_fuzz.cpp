// Any bytes as the file of a store of decoded pixels: found or not, never outside of the file; and one more is put. The
// header must be right for anything behind it to be looked at, so that inputs go there twice: as they are, and behind a
// header of this machine's own.
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
  std::vector<char> made;  // of a store with two samples
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
    made.assign(std::istreambuf_iterator<char>(in), {});
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
      const auto kept = store->find(id);
      if (!kept) continue;
      const PixelView& pixels = kept->pixels;
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
    std::vector<char> mended = file.made;
    if (mended.size() > kHeader) std::copy_n(data, std::min(size, mended.size() - kHeader), mended.begin() + kHeader);
    file.use(mended);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) __builtin_trap();
  }
  return 0;
}
