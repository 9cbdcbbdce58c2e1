#include <array>
#include <cstddef>
#include <string>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/common/encoder_parts.h"
#include "unstarve/codecs/common/guarded_call.h"
#include "unstarve/codecs/jpeg/libjpeg/jpeg_errors.h"
#include "unstarve/core/format_error.h"

namespace unstarve {

// libjpeg's structs hold each other's addresses, so a session never moves.
struct JpegEncoderSession {
  JpegFailure failure{};
  jpeg_compress_struct cinfo{};
  jpeg_destination_mgr destination{};
  std::array<JOCTET, 16384> buffer{};  // libjpeg writes here; append() copies it to `out`
  bool created = false;

  // The task of encode_step().
  PixelView pixels;
  int quality = 0;
  ChromaSampling sampling = ChromaSampling::k420;
  std::vector<std::uint8_t> scratch_row;
  std::vector<std::uint8_t>* out = nullptr;

  ~JpegEncoderSession() { close(); }
  void close() noexcept {
    if (created) jpeg_destroy_compress(&cinfo);
    created = false;
  }
};

namespace {

// ---- the destination: a vector that grows ----

JpegEncoderSession& session_of(j_compress_ptr cinfo) { return *static_cast<JpegEncoderSession*>(cinfo->client_data); }

void restart_buffer(j_compress_ptr cinfo) {
  JpegEncoderSession& session = session_of(cinfo);
  session.destination.next_output_byte = session.buffer.data();
  session.destination.free_in_buffer = session.buffer.size();
}

void flush(j_compress_ptr cinfo, std::size_t count) {
  JpegEncoderSession& session = session_of(cinfo);
  if (!append(*session.out, session.buffer.data(), count)) {
    fail(reinterpret_cast<j_common_ptr>(cinfo), JERR_OUT_OF_MEMORY);
  }
  restart_buffer(cinfo);
}

// libjpeg requires the whole buffer to be written, whatever free_in_buffer is.
boolean empty_buffer(j_compress_ptr cinfo) {
  flush(cinfo, session_of(cinfo).buffer.size());
  return TRUE;
}

void finish_buffer(j_compress_ptr cinfo) {
  const JpegEncoderSession& session = session_of(cinfo);
  flush(cinfo, session.buffer.size() - session.destination.free_in_buffer);
}

// ---- steps: run inside guarded_call() and therefore hold only numbers and pointers ----

void create_encoder_step(void* context) {
  auto& session = *static_cast<JpegEncoderSession*>(context);
  session.cinfo.err = install(session.failure);
  jpeg_create_compress(&session.cinfo);
  session.destination.init_destination = restart_buffer;
  session.destination.empty_output_buffer = empty_buffer;
  session.destination.term_destination = finish_buffer;
  session.cinfo.dest = &session.destination;
  session.cinfo.client_data = &session;
}

void encode_step(void* context) {
  auto& session = *static_cast<JpegEncoderSession*>(context);
  jpeg_compress_struct& cinfo = session.cinfo;
  cinfo.image_width = static_cast<JDIMENSION>(session.pixels.width);
  cinfo.image_height = static_cast<JDIMENSION>(session.pixels.height);
  cinfo.input_components = kChannels;
  cinfo.in_color_space = JCS_RGB;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, session.quality, TRUE);
  if (session.sampling == ChromaSampling::kGrey) {
    jpeg_set_colorspace(&cinfo, JCS_GRAYSCALE);
  } else {
    cinfo.comp_info[0].h_samp_factor = session.sampling == ChromaSampling::k444 ? 1 : 2;
    cinfo.comp_info[0].v_samp_factor = session.sampling == ChromaSampling::k420 ? 2 : 1;
  }
  jpeg_start_compress(&cinfo, TRUE);
  for (int y = 0; y < session.pixels.height; ++y) {
    // libjpeg only reads the row.
    auto* row = const_cast<JSAMPROW>(interleaved_row(session.pixels, y, session.scratch_row.data()));
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
}

// Runs a step. After a failure the compressor is destroyed, because libjpeg does not define its state.
void run_encoder(JpegEncoderSession& session, void (*step)(void*)) {
  if (guarded_call(session.failure.jump, step, &session)) return;
  const Error error =
      jpeg_error(session.failure, fmt::format("encoding {} x {} pixels", session.pixels.width, session.pixels.height));
  session.close();
  throw error;
}

}  // namespace

JpegEncoder::JpegEncoder() : session_(std::make_unique<JpegEncoderSession>()) {}
JpegEncoder::~JpegEncoder() = default;

void JpegEncoder::encode(PixelView pixels, int quality, ChromaSampling sampling, std::vector<std::uint8_t>& out) {
  check_encodable(pixels.size(), "JPEG");
  if (quality < 1 || quality > 100) {
    throw argument_error("encode JPEG: quality {}; expected 1 to 100", quality);
  }
  JpegEncoderSession& session = *session_;
  session.pixels = pixels;
  session.quality = quality;
  session.sampling = sampling;
  session.scratch_row.resize(static_cast<std::size_t>(pixels.width) * kChannels);
  session.out = &out;
  out.clear();
  if (!session.created) {
    // Set first, so that close() frees the compressor after a failure here.
    session.created = true;
    session.cinfo.mem = nullptr;
    run_encoder(session, create_encoder_step);
  }
  run_encoder(session, encode_step);
}

std::vector<std::uint8_t> encode_jpeg(PixelView pixels, int quality, ChromaSampling sampling) {
  JpegEncoder encoder;
  std::vector<std::uint8_t> out;
  encoder.encode(pixels, quality, sampling, out);
  out.shrink_to_fit();
  return out;
}

}  // namespace unstarve
