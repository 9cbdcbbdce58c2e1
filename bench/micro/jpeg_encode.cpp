// Time of our JPEG encoder compared with libjpeg-turbo, on photographs resized as by `unstarve pack --resize 256`:
//
//   cmake --build build --target unstarve_jpeg_encode_bench
//   build/bench/unstarve_jpeg_encode_bench FOLDER [PASSES [QUALITY [TARGET]]]
//
// Both encode each image alternately, pass after pass. The minimum time per image is used, because other load on the
// machine only adds time. The files must be equal.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/jpeg/encode/jpeg_encoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/simd_test_support.h"
#include "unstarve/ops/resize/resize.h"

namespace unstarve {
namespace {

constexpr int kSide = 256;

// libjpeg errors end the program (the default of libjpeg).
void encode_with_libjpeg(const Image& image, int quality, std::vector<std::uint8_t>& out) {
  jpeg_error_mgr errors;
  jpeg_compress_struct cinfo;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* bytes = nullptr;
  unsigned long count = 0;
  jpeg_mem_dest(&cinfo, &bytes, &count);
  cinfo.image_width = static_cast<JDIMENSION>(image.size().width);
  cinfo.image_height = static_cast<JDIMENSION>(image.size().height);
  cinfo.input_components = kChannels;
  cinfo.in_color_space = JCS_RGB;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, quality, TRUE);
  jpeg_start_compress(&cinfo, TRUE);
  for (int y = 0; y < image.size().height; ++y) {
    auto* row = const_cast<JSAMPROW>(image.row(y));
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  out.assign(bytes, bytes + count);
  std::free(bytes);
}

std::vector<Image> photographs(const std::filesystem::path& folder) {
  std::vector<Image> images;
  Decoder decoder;
  Scratch scratch;
  Image whole;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const MappedFile file(entry.path());
    decoder.open(file.bytes());
    decoder.decode({}, whole);
    Frame frame(whole.view());
    const int shorter = std::min(frame.width, frame.height);
    resize_bilinear(frame, {frame.width * kSide / shorter, frame.height * kSide / shorter}, scratch);
    Image& image = images.emplace_back(frame.size());
    for (int y = 0; y < frame.height; ++y) {
      std::copy_n(frame.pixels.data + y * frame.pixels.row_stride, image.row_bytes(), image.row(y));
    }
  }
  return images;
}

// Updates the minimum time in `best`.
template <class Encode>
void time(double& best, const Encode& encode) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  encode();
  best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
}

void compare(const std::vector<Image>& images, int passes, int quality, const std::string& target) {
  JpegEncoder encoder;
  std::vector<std::uint8_t> ours, theirs;
  constexpr double kLong = 1e9;
  std::vector<double> our_us(images.size(), kLong), their_us(images.size(), kLong);
  std::size_t bytes = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < images.size(); ++i) {
      encode_with_libjpeg(images[i], quality, theirs);  // both find the pixels in the cache, as after a resize
      time(our_us[i], [&] { encoder.encode(images[i].view(), quality, ChromaSampling::k420, ours); });
      time(their_us[i], [&] { encode_with_libjpeg(images[i], quality, theirs); });
      if (ours != theirs) throw Error(ErrorKind::kInternal, "the files differ");
      bytes += pass == 0 ? ours.size() : 0;
    }
  }
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  std::printf("%-8s %zu images, mean %zu bytes: ours %.1f us, libjpeg-turbo %.1f us per image, ratio %.2f\n",
              target.c_str(), images.size(), bytes / images.size(), mean(our_us), mean(their_us),
              mean(their_us) / mean(our_us));
}

void run(const std::filesystem::path& folder, int passes, int quality, const std::string& only) {
  const std::vector<Image> images = photographs(folder);
  if (images.empty()) throw Error(ErrorKind::kArgument, "no photographs in " + folder.string());
  testing::on_every_target([&](const std::string& target) {
    if (only.empty() || target == only) compare(images, passes, quality, target);
  });
}

}  // namespace
}  // namespace unstarve

int main(int count, char** words) try {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s FOLDER [PASSES [QUALITY [TARGET]]]\n", words[0]);
    return 2;
  }
  unstarve::run(words[1], count > 2 ? std::atoi(words[2]) : 20, count > 3 ? std::atoi(words[3]) : 90,
                count > 4 ? words[4] : "");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
