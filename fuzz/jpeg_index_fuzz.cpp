// Any bytes as the scan index of a JPEG: decoding by it gives the pixels of decoding without, or breaks nothing where
// somebody made up a right checksum.
//
// The last byte chooses the file, the one before whether the checksum is made right.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/encode.h"
#include "unstarve/codecs/jpeg/scan_index.h"

namespace {

using namespace unstarve;

struct File {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> index;
  Image crop;
};

constexpr Rect kCrop{21, 37, 60, 50};

File file_of(ChromaSampling sampling) {
  Image image({150, 110});
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(i * i / 97 + i / 5);
  File file{encode_jpeg(image.view(), 90, sampling), {}, {}};
  Decoder decoder;
  decoder.open(file.bytes);
  decoder.decode({kCrop, 1, {}, true}, file.crop);
  file.index.assign(decoder.made_index().begin(), decoder.made_index().end());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<File, 2> files{file_of(ChromaSampling::k420), file_of(ChromaSampling::k444)};
  static Decoder decoder;
  static Image out;
  constexpr std::size_t kHeaderBytes = 18;
  if (size < 2) return 0;
  const File& file = files[data[size - 1] % 2];
  const bool sealed = data[size - 2] % 2 == 1;
  std::vector<std::uint8_t> index(data, data + size - 2);
  if (sealed && index.size() >= kHeaderBytes) {
    // The right version, step and identity, and a checksum of what follows.
    std::memcpy(index.data(), file.index.data(), 10);
    const std::uint64_t sum = checksum_of(std::span(index).subspan(kHeaderBytes));
    for (std::size_t i = 0; i < 8; ++i) index[10 + i] = static_cast<std::uint8_t>(sum >> (8 * i));
  }
  decoder.open(file.bytes);
  decoder.decode({kCrop, 1, index, false}, out);
  const bool same = out.size() == file.crop.size() && std::memcmp(out.data(), file.crop.data(), out.bytes()) == 0;
  if (!same && !(sealed && decoder.index_use() == IndexUse::kUsed)) __builtin_trap();
  if (index == file.index && decoder.index_use() != IndexUse::kUsed) __builtin_trap();
  return 0;
}
