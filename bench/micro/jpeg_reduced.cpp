// Time of reduced decoding of a large photograph by our decoder compared with libjpeg-turbo:
//
//   cmake --build build --target unstarve_jpeg_reduced_bench
//   build/bench/unstarve_jpeg_reduced_bench FOLDER [PASSES]
//
// The image has 4000 x 3000 pixels (12 megapixels) and is a mosaic of the photographs in the folder, with a realistic
// number of coefficients; 4:2:0 and 4:4:4, quality 90. For each reduction: the whole image, and a centre crop of half
// of each side, without and with a scan index. The decoders alternate, pass after pass. The minimum time is used,
// because other load on the machine only adds time. The pixels must be equal.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/jpeg/jpeg_decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

namespace unstarve {
namespace {

constexpr Size kSize{4000, 3000};
constexpr Size kTile{250, 250};

// Tiles the image with centre crops of the photographs that are large enough.
Image mosaic(const std::filesystem::path& folder) {
  std::vector<Image> tiles;
  Decoder decoder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const MappedFile file(entry.path());
    const Size size = decoder.open(file.bytes()).size;
    if (size.width < kTile.width || size.height < kTile.height) continue;
    const Rect middle{(size.width - kTile.width) / 2, (size.height - kTile.height) / 2, kTile.width, kTile.height};
    decoder.decode({middle}, tiles.emplace_back());
  }
  if (tiles.empty()) throw Error(ErrorKind::kArgument, "no photographs of 250 x 250 and more in " + folder.string());
  Image image(kSize);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; x += kTile.width) {
      const int number = y / kTile.height * (kSize.width / kTile.width) + x / kTile.width;
      const Image& tile = tiles[static_cast<std::size_t>(number) % tiles.size()];
      std::memcpy(image.row(y) + x * kChannels, tile.row(y % kTile.height), tile.row_bytes());
    }
  }
  return image;
}

struct Timed {
  JpegDecoder decoder;
  Image out;
  double best_ms = 1e9;

  void decode(const std::vector<std::uint8_t>& file, int reduction, const Rect& rect,
              const std::vector<std::uint8_t>& index) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    decoder.open(file);
    decoder.decode({reduction, rect, index}, out);
    best_ms = std::min(best_ms, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
};

void compare(const std::vector<std::uint8_t>& file, const std::vector<std::uint8_t>& index, int reduction, bool crop,
             int passes) {
  const auto reduced = [&](int side) { return (side + reduction - 1) / reduction; };
  const Size size{reduced(kSize.width), reduced(kSize.height)};
  const Rect rect = crop ? Rect{size.width / 4, size.height / 4, size.width / 2, size.height / 2}
                         : Rect{0, 0, size.width, size.height};
  Timed theirs, plain, indexed;
  theirs.decoder.use_own_decoder(false);
  for (int pass = 0; pass < passes; ++pass) {
    theirs.decode(file, reduction, rect, {});
    plain.decode(file, reduction, rect, {});
    indexed.decode(file, reduction, rect, index);
    for (const Timed* way : {&plain, &indexed}) {
      if (!way->decoder.used_own_decoder()) throw Error(ErrorKind::kInternal, "our decoder was not used");
      if (std::memcmp(way->out.data(), theirs.out.data(), theirs.out.bytes()) != 0)
        throw Error(ErrorKind::kInternal, "the pixels differ");
    }
    if (indexed.decoder.index_use() != IndexUse::kUsed) throw Error(ErrorKind::kInternal, "the index was not used");
  }
  std::printf("1/%d %-6s libjpeg-turbo %7.2f ms, ours %7.2f ms (ratio %.2f), with index %7.2f ms (ratio %.2f)\n",
              reduction, crop ? "crop," : "whole,", theirs.best_ms, plain.best_ms, theirs.best_ms / plain.best_ms,
              indexed.best_ms, theirs.best_ms / indexed.best_ms);
}

void run(const std::filesystem::path& folder, int passes) {
  const Image image = mosaic(folder);
  for (const ChromaSampling sampling : {ChromaSampling::k420, ChromaSampling::k444}) {
    const std::vector<std::uint8_t> file = encode_jpeg(image.view(), 90, sampling);
    Decoder decoder;
    Image whole;
    decoder.open(file);
    decoder.decode({{}, 1, {}, true}, whole);
    const std::vector<std::uint8_t> index(decoder.made_index().begin(), decoder.made_index().end());
    std::printf("%s, %.1f MB, index of %.2f %%\n", sampling == ChromaSampling::k420 ? "4:2:0" : "4:4:4",
                static_cast<double>(file.size()) / 1e6,
                100.0 * static_cast<double>(index.size()) / static_cast<double>(file.size()));
    for (const int reduction : {1, 2, 4, 8}) {
      compare(file, index, reduction, false, passes);
      compare(file, index, reduction, true, passes);
    }
  }
}

}  // namespace
}  // namespace unstarve

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s FOLDER [PASSES]\n", argv[0]);
    return 2;
  }
  try {
    unstarve::run(argv[1], argc > 2 ? std::atoi(argv[2]) : 15);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
