// Arbitrary bytes as the scan index of a JPEG. Decoding with the index must give the same pixels as without, or must at
// least not crash if a wrong index has a right checksum.
//
// The last byte selects the file (two of them have restart markers), the one before whether the checksum is corrected.
// The corpus contains the index of each file with both values of that byte; it must be rewritten for a new version of
// the index format.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include <jpeglib.h>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/jpeg/index/checksum.h"

namespace {

using namespace unstarve;

struct File {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> index;
  Image crop;
};

constexpr Rect kCrop{21, 37, 60, 50};

// Encodes with libjpeg, because our encoder does not write restart markers. libjpeg errors would end the program.
std::vector<std::uint8_t> encoded(const Image& image, bool halved, unsigned restart_interval) {
  jpeg_error_mgr errors;
  jpeg_compress_struct cinfo;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &bytes, &size);
  cinfo.image_width = static_cast<JDIMENSION>(image.size().width);
  cinfo.image_height = static_cast<JDIMENSION>(image.size().height);
  cinfo.input_components = kChannels;
  cinfo.in_color_space = JCS_RGB;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, 90, TRUE);
  if (!halved) cinfo.comp_info[0].h_samp_factor = cinfo.comp_info[0].v_samp_factor = 1;
  cinfo.restart_interval = restart_interval;
  jpeg_start_compress(&cinfo, TRUE);
  for (int y = 0; y < image.size().height; ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(image.row(y));
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  std::vector<std::uint8_t> file(bytes, bytes + size);
  jpeg_destroy_compress(&cinfo);
  std::free(bytes);
  return file;
}

File file_of(bool halved, unsigned restart_interval) {
  Image image({150, 110});
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(i * i / 97 + i / 5);
  File file{encoded(image, halved, restart_interval), {}, {}};
  Decoder decoder;
  decoder.open(file.bytes);
  decoder.decode({kCrop, 1, {}, true}, file.crop);
  file.index.assign(decoder.made_index().begin(), decoder.made_index().end());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<File, 4> files{file_of(true, 0), file_of(false, 0), file_of(true, 3), file_of(false, 11)};
  static Decoder decoder;
  static Image out;
  constexpr std::size_t kHeaderBytes = 18;
  if (size < 2) return 0;
  const File& file = files[data[size - 1] % files.size()];
  const bool sealed = data[size - 2] % 2 == 1;
  std::vector<std::uint8_t> index(data, data + size - 2);
  if (sealed && index.size() >= kHeaderBytes) {
    // Copies version, step and identity, and computes the checksum of the rest.
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
