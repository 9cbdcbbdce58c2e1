#include "unstarve/codecs/png/png_decoder.h"

#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <png.h>

#include "unstarve/codecs/common/guarded_call.h"
#include "unstarve/codecs/common/image_arena.h"
#include "unstarve/codecs/png/png_header.h"
#include "unstarve/core/format_error.h"

namespace unstarve {

struct PngSession {
  std::jmp_buf jump{};
  char text[128]{};
  bool out_of_memory = false;
  bool cut = false;        // libpng has read beyond the end
  bool rows_done = false;  // all rows of the region are decoded
  png_structp png = nullptr;
  png_infop info = nullptr;
  ImageArena arena;  // libpng's and zlib's memory for one image
  Image whole;       // an interlaced image of which a part is requested

  std::span<const std::uint8_t> bytes;
  std::size_t position = 0;
  std::optional<PngHeader> header;  // of the image that was opened and is not yet decoded
};

namespace {

struct DecodeTask {
  PngSession& session;
  Size size;
  Rect rect;
  std::uint8_t* out = nullptr;    // rows of rect.width pixels
  std::uint8_t* image = nullptr;  // rows of size.width pixels, for an interlaced image
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& session = *static_cast<PngSession*>(png_get_error_ptr(png));
  std::strncpy(session.text, message, sizeof(session.text) - 1);
  std::longjmp(session.jump, 1);
}

void on_warning(png_structp, png_const_charp) {}

// libpng rarely frees or reallocates during an image, and the arena is reset after each image.
png_voidp on_malloc(png_structp png, png_alloc_size_t bytes) {
  auto& session = *static_cast<PngSession*>(png_get_mem_ptr(png));
  void* memory = session.arena.allocate(bytes);
  if (memory == nullptr) session.out_of_memory = true;
  return memory;
}

void on_free(png_structp, png_voidp) {}

void on_read(png_structp png, png_bytep target, std::size_t count) {
  auto& session = *static_cast<PngSession*>(png_get_io_ptr(png));
  if (count > session.bytes.size() - session.position) {
    session.cut = true;
    png_error(png, "truncated: the file ends too early");
  }
  std::memcpy(target, session.bytes.data() + session.position, count);
  session.position += count;
}

void decode_step(void* context) {
  const DecodeTask& task = *static_cast<const DecodeTask*>(context);
  PngSession& session = task.session;
  png_structp png =
      png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning, &session, on_malloc, on_free);
  session.png = png;
  if (png == nullptr) {
    session.out_of_memory = true;
    std::longjmp(session.jump, 1);
  }
  session.info = png_create_info_struct(png);
  if (session.info == nullptr) png_error(png, "out of memory");
  // Skips chunks that cannot change the pixels: text, profiles, time.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_user_limits(png, kMaxSide, kMaxSide);
  png_set_read_fn(png, &session, on_read);
  png_read_info(png, session.info);

  png_set_expand(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, session.info);

  const Rect& rect = task.rect;
  const std::size_t row_bytes = static_cast<std::size_t>(task.size.width) * kChannels;
  if (png_get_rowbytes(png, session.info) != row_bytes) png_error(png, "rows are not RGB after expansion");
  const std::size_t out_stride = static_cast<std::size_t>(rect.width) * kChannels;
  const std::size_t offset = static_cast<std::size_t>(rect.x) * kChannels;
  const int last = rect.y + rect.height;

  if (passes > 1) {
    for (int pass = 0; pass < passes; ++pass) {
      for (int y = 0; y < task.size.height; ++y) {
        png_read_row(png, task.image + static_cast<std::size_t>(y) * row_bytes, nullptr);
      }
    }
    if (task.image != task.out) {
      for (int y = rect.y; y < last; ++y) {
        std::memcpy(task.out + static_cast<std::size_t>(y - rect.y) * out_stride,
                    task.image + static_cast<std::size_t>(y) * row_bytes + offset, out_stride);
      }
    }
  } else {
    const bool direct = rect.width == task.size.width;
    auto* row = static_cast<png_bytep>(png_malloc(png, row_bytes));
    for (int y = 0; y < last; ++y) {
      std::uint8_t* target = y < rect.y ? nullptr : task.out + static_cast<std::size_t>(y - rect.y) * out_stride;
      png_read_row(png, target != nullptr && direct ? target : row, nullptr);
      if (target != nullptr && !direct) std::memcpy(target, row + offset, out_stride);
    }
  }
  session.rows_done = true;
  // After the last row, also verifies the checksums and the end of the file.
  if (last == task.size.height) png_read_end(png, nullptr);
}

void close_step(void* context) {
  auto& session = *static_cast<PngSession*>(context);
  png_destroy_read_struct(&session.png, &session.info, nullptr);
}

}  // namespace

PngDecoder::PngDecoder() : session_(std::make_unique<PngSession>()) {}
PngDecoder::~PngDecoder() = default;
PngDecoder::PngDecoder(PngDecoder&&) noexcept = default;
PngDecoder& PngDecoder::operator=(PngDecoder&&) noexcept = default;

ImageHeader PngDecoder::open(std::span<const std::uint8_t> bytes) {
  PngSession& session = *session_;
  session.header.reset();
  session.bytes = bytes;
  session.header = read_png_header(bytes);
  return {Encoding::kPng, session.header->size, 1, session.header->components, true};
}

void PngDecoder::decode(Rect rect, Image& out) {
  PngSession& session = *session_;
  if (!session.header) throw argument_error("PNG: decode() without a preceding open()");
  const PngHeader header = *std::exchange(session.header, std::nullopt);
  check_png_length(header, session.bytes.size(), rect);
  out.resize(rect.size());
  DecodeTask task{session, header.size, rect, out.data()};
  if (header.interlaced) {
    const bool all = rect.size() == header.size;
    if (!all) session.whole.resize(header.size);
    task.image = all ? out.data() : session.whole.data();
  }
  session.position = 0;
  session.out_of_memory = session.cut = session.rows_done = false;

  const bool done = guarded_call(session.jump, decode_step, &task);
  // Errors while closing are ignored: the image is decoded, and the arena reclaims the memory.
  static_cast<void>(guarded_call(session.jump, close_step, &session));
  session.png = nullptr;
  session.info = nullptr;
  session.arena.reset();
  // A file that ends after the last row has all pixels: only the end marker or chunks without effect are missing.
  if (done || (session.rows_done && session.cut)) return;
  const std::string where = fmt::format(" (file of {} bytes)", session.bytes.size());
  if (session.out_of_memory) throw memory_error("PNG: out of memory{}", where);
  throw input_error("PNG: {}{}", session.text, where);
}

}  // namespace unstarve
