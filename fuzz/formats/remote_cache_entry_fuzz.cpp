// Arbitrary bytes as an entry of the disk cache, read completely and in part. The input is also used as the data after
// a valid header, unchanged and with one byte changed.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "unstarve/storage/remote/cache/cache_entry.h"

namespace {

using namespace unstarve::remote;
namespace fs = std::filesystem;

struct File {
  fs::path path;
  File() {
    std::string name = (fs::temp_directory_path() / "unstarve-entry-XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    if (fd < 0) std::abort();
    ::close(fd);
    path = name;
  }
  ~File() {
    std::error_code failed;
    fs::remove(path, failed);
  }
  void write(std::span<const std::uint8_t> head, std::span<const std::uint8_t> data) const {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(head.data()), static_cast<std::streamsize>(head.size()));
    out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  constexpr Sha256 object{1, 2, 3};
  constexpr std::uint64_t kOffset = 1000;
  const std::span<const std::uint8_t> bytes(data, size);
  std::vector<std::uint8_t> out(100);
  file.write({}, bytes);
  if (read_cache_entry(file.path, object, {kOffset, 100}, {kOffset, out}) == EntryRead::kAbsent) __builtin_trap();
  if (size < 2) return 0;
  const std::vector<std::uint8_t> head = cache_entry_head(object, kOffset, bytes);
  file.write(head, bytes);
  out.resize(size);
  if (read_cache_entry(file.path, object, {kOffset, size}, {kOffset, out}) != EntryRead::kRead) __builtin_trap();
  if (!std::ranges::equal(out, bytes)) __builtin_trap();
  std::vector<std::uint8_t> changed(bytes.begin(), bytes.end());
  const std::size_t at = data[0] * size / 256;
  changed[at] ^= static_cast<std::uint8_t>(data[1] | 1);
  file.write(head, changed);
  if (read_cache_entry(file.path, object, {kOffset, size}, {kOffset + at, std::span(out).first(1)}) !=
      EntryRead::kDamaged) {
    __builtin_trap();
  }
  return 0;
}
