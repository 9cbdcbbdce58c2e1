#include <csetjmp>
#include <cstring>
#include <string>

#include <png.h>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/common/encoder_parts.h"
#include "unstarve/codecs/common/guarded_call.h"
#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

struct EncodeSession {
  std::jmp_buf jump{};
  char text[128]{};
  png_structp png = nullptr;
  png_infop info = nullptr;
  PixelView pixels;
  std::uint8_t* scratch_row = nullptr;
  std::vector<std::uint8_t> bytes;

  ~EncodeSession() { png_destroy_write_struct(&png, &info); }
};

[[noreturn]] void on_encode_error(png_structp png, png_const_charp message) {
  auto& session = *static_cast<EncodeSession*>(png_get_error_ptr(png));
  std::strncpy(session.text, message, sizeof(session.text) - 1);
  std::longjmp(session.jump, 1);
}

void on_encode_warning(png_structp, png_const_charp) {}

void on_write(png_structp png, png_bytep data, std::size_t count) {
  auto& session = *static_cast<EncodeSession*>(png_get_io_ptr(png));
  if (!append(session.bytes, data, count)) png_error(png, "out of memory");
}

void on_flush(png_structp) {}

// Runs inside guarded_call() and therefore holds only numbers and pointers.
void encode_step(void* context) {
  auto& session = *static_cast<EncodeSession*>(context);
  session.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, on_encode_error, on_encode_warning);
  if (session.png == nullptr) std::longjmp(session.jump, 1);
  session.info = png_create_info_struct(session.png);
  if (session.info == nullptr) png_error(session.png, "out of memory");
  png_set_write_fn(session.png, &session, on_write, on_flush);
  png_set_IHDR(session.png, session.info, static_cast<png_uint_32>(session.pixels.width),
               static_cast<png_uint_32>(session.pixels.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(session.png, session.info);
  for (int y = 0; y < session.pixels.height; ++y) {
    png_write_row(session.png, interleaved_row(session.pixels, y, session.scratch_row));
  }
  png_write_end(session.png, nullptr);
}

}  // namespace

std::vector<std::uint8_t> encode_png(PixelView pixels) {
  check_encodable(pixels.size(), "PNG");
  std::vector<std::uint8_t> scratch(static_cast<std::size_t>(pixels.width) * kChannels);
  EncodeSession session;
  session.pixels = pixels;
  session.scratch_row = scratch.data();
  if (!guarded_call(session.jump, encode_step, &session)) {
    throw memory_error("encode PNG: {}", session.text);
  }
  return std::move(session.bytes);
}

}  // namespace unstarve
