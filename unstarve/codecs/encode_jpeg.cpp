#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/encode.h"
#include "unstarve/codecs/guarded_call.h"
#include "unstarve/codecs/jpeg/jpeg_errors.h"
#include "unstarve/codecs/rows.h"

namespace unstarve {
namespace {

struct EncodeSession {
  JpegFailure failure{};
  jpeg_compress_struct cinfo{};
  PixelView pixels;
  int quality = 0;
  ChromaSampling sampling = ChromaSampling::k420;
  std::uint8_t* scratch_row = nullptr;
  unsigned char* bytes = nullptr;  // libjpeg's, from malloc
  unsigned long byte_count = 0;

  ~EncodeSession() {
    jpeg_destroy_compress(&cinfo);
    std::free(bytes);
  }
};

// Runs inside guarded_call(), so it holds only numbers and pointers.
void encode_step(void* context) {
  auto& session = *static_cast<EncodeSession*>(context);
  jpeg_compress_struct& cinfo = session.cinfo;
  jpeg_create_compress(&cinfo);
  jpeg_mem_dest(&cinfo, &session.bytes, &session.byte_count);
  cinfo.image_width = static_cast<JDIMENSION>(session.pixels.width);
  cinfo.image_height = static_cast<JDIMENSION>(session.pixels.height);
  cinfo.input_components = kChannels;
  cinfo.in_color_space = JCS_RGB;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, session.quality, TRUE);
  cinfo.comp_info[0].h_samp_factor = session.sampling == ChromaSampling::k444 ? 1 : 2;
  cinfo.comp_info[0].v_samp_factor = session.sampling == ChromaSampling::k420 ? 2 : 1;
  jpeg_start_compress(&cinfo, TRUE);
  for (int y = 0; y < session.pixels.height; ++y) {
    // libjpeg takes rows as writable and only reads them.
    auto* row = const_cast<JSAMPROW>(interleaved_row(session.pixels, y, session.scratch_row));
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
}

}  // namespace

std::vector<std::uint8_t> encode_jpeg(PixelView pixels, int quality, ChromaSampling sampling) {
  if (pixels.width <= 0 || pixels.height <= 0 || pixels.width > kMaxSide || pixels.height > kMaxSide) {
    throw Error(ErrorKind::kArgument, "encode JPEG: image of " + std::to_string(pixels.width) + " x " +
                                          std::to_string(pixels.height) + ", expected 1 to " +
                                          std::to_string(kMaxSide) + " a side");
  }
  if (quality < 1 || quality > 100) {
    throw Error(ErrorKind::kArgument, "encode JPEG: quality " + std::to_string(quality) + ", expected 1 to 100");
  }
  std::vector<std::uint8_t> scratch(static_cast<std::size_t>(pixels.width) * kChannels);
  EncodeSession session;
  session.cinfo.err = install(session.failure);
  session.pixels = pixels;
  session.quality = quality;
  session.sampling = sampling;
  session.scratch_row = scratch.data();
  if (!guarded_call(session.failure.jump, encode_step, &session)) throw jpeg_error(session.failure, "while encoding");
  return {session.bytes, session.bytes + session.byte_count};
}

}  // namespace unstarve
