#include "unstarve/codecs/png/png_decoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <string>

#include <png.h>

#include "unstarve/codecs/common/guarded_call.h"
#include "unstarve/codecs/common/image_arena.h"
#include "unstarve/core/error.h"

namespace unstarve {

struct PngSession {
  std::jmp_buf jump{};
  char text[128]{};
  bool out_of_memory = false;
  png_structp png = nullptr;
  png_infop info = nullptr;
  ImageArena arena;  // libpng's and zlib's memory for one image
  Image whole;       // an interlaced image of which a part is requested

  std::span<const std::uint8_t> bytes;
  std::size_t position = 0;
  bool opened = false;
  Size size;
  bool interlaced = false;
  std::uint64_t row_bytes = 0;  // as filtered, before compression

  // The task of decode_step().
  Rect rect;
  std::uint8_t* out = nullptr;    // rows of rect.width pixels
  std::uint8_t* image = nullptr;  // rows of size.width pixels, for an interlaced image
};

namespace {

// PNG 1.2 (ISO 15948): the signature, then IHDR, always 13 bytes: width, height, depth, colour type, compression,
// filter, interlace.
constexpr std::uint8_t kSignature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
constexpr std::size_t kHeaderBytes = 8 + 8 + 13 + 4;

std::uint32_t big_endian_32(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | p[3];
}

int components_of(int colour_type) {
  switch (colour_type) {
    case PNG_COLOR_TYPE_GRAY: return 1;
    case PNG_COLOR_TYPE_GRAY_ALPHA: return 2;
    case PNG_COLOR_TYPE_RGB:
    case PNG_COLOR_TYPE_PALETTE: return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA: return 4;
    default: return 0;
  }
}

// Called before memory is allocated for the declared size. A shorter file would fail later in any case.
void check_length(const PngSession& session, const Rect& rect) {
  // Two bits of deflate (RFC 1951) represent at most 258 bytes.
  constexpr std::uint64_t kMostCompressed = 258 * 8 / 2;
  const auto rows = static_cast<std::uint64_t>(session.interlaced ? session.size.height : rect.y + rect.height);
  const std::uint64_t least = rows * session.row_bytes / kMostCompressed;
  const std::size_t available = session.bytes.size() - kHeaderBytes;
  if (available >= least) return;
  throw Error(ErrorKind::kInput, "PNG: truncated: " + std::to_string(rows) + " rows of " +
                                     std::to_string(session.size.width) + " x " + std::to_string(session.size.height) +
                                     " pixels require at least " + std::to_string(least) + " bytes, the file has " +
                                     std::to_string(available) + " after its header");
}

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
  if (count > session.bytes.size() - session.position) png_error(png, "truncated: the file ends too early");
  std::memcpy(target, session.bytes.data() + session.position, count);
  session.position += count;
}

void decode_step(void* context) {
  auto& session = *static_cast<PngSession*>(context);
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

  const Rect& rect = session.rect;
  const std::size_t row_bytes = static_cast<std::size_t>(session.size.width) * kChannels;
  if (png_get_rowbytes(png, session.info) != row_bytes) png_error(png, "rows are not RGB after expansion");
  const std::size_t out_stride = static_cast<std::size_t>(rect.width) * kChannels;
  const std::size_t offset = static_cast<std::size_t>(rect.x) * kChannels;
  const int last = rect.y + rect.height;

  if (passes > 1) {
    for (int pass = 0; pass < passes; ++pass) {
      for (int y = 0; y < session.size.height; ++y) {
        png_read_row(png, session.image + static_cast<std::size_t>(y) * row_bytes, nullptr);
      }
    }
    if (session.image != session.out) {
      for (int y = rect.y; y < last; ++y) {
        std::memcpy(session.out + static_cast<std::size_t>(y - rect.y) * out_stride,
                    session.image + static_cast<std::size_t>(y) * row_bytes + offset, out_stride);
      }
    }
  } else {
    const bool direct = rect.width == session.size.width;
    auto* row = static_cast<png_bytep>(png_malloc(png, row_bytes));
    for (int y = 0; y < last; ++y) {
      std::uint8_t* target = y < rect.y ? nullptr : session.out + static_cast<std::size_t>(y - rect.y) * out_stride;
      png_read_row(png, target != nullptr && direct ? target : row, nullptr);
      if (target != nullptr && !direct) std::memcpy(target, row + offset, out_stride);
    }
  }
  // After the last row, also verifies the checksums and the end of the file.
  if (last == session.size.height) png_read_end(png, nullptr);
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
  session.opened = false;
  session.bytes = bytes;
  if (bytes.size() < kHeaderBytes) {
    throw Error(ErrorKind::kInput, "PNG: truncated: the file has " + std::to_string(bytes.size()) +
                                       " bytes; expected at least " + std::to_string(kHeaderBytes) + " for the header");
  }
  if (!std::equal(std::begin(kSignature), std::end(kSignature), bytes.begin()) || big_endian_32(&bytes[8]) != 13 ||
      std::memcmp(&bytes[12], "IHDR", 4) != 0) {
    throw Error(ErrorKind::kInput, "PNG: damaged: the file does not begin with the signature and IHDR");
  }
  const std::uint32_t width = big_endian_32(&bytes[16]);
  const std::uint32_t height = big_endian_32(&bytes[20]);
  const int components = components_of(bytes[25]);
  const auto found = [=] { return std::to_string(width) + " x " + std::to_string(height) + " pixels"; };
  if (width == 0 || height == 0) throw Error(ErrorKind::kInput, "PNG: empty: " + found());
  if (width > kMaxSide || height > kMaxSide) {
    throw Error(ErrorKind::kInput,
                "PNG: too large: " + found() + "; expected at most " + std::to_string(kMaxSide) + " per side");
  }
  if (components == 0) {
    throw Error(ErrorKind::kInput, "PNG: colour type " + std::to_string(bytes[25]) + "; expected 0, 2, 3, 4 or 6");
  }
  const int depth = bytes[24];
  if (depth != 1 && depth != 2 && depth != 4 && depth != 8 && depth != 16) {
    throw Error(ErrorKind::kInput, "PNG: bit depth " + std::to_string(depth) + "; expected 1, 2, 4, 8 or 16");
  }
  session.size = {static_cast<int>(width), static_cast<int>(height)};
  session.interlaced = bytes[28] != 0;
  const auto samples = static_cast<std::uint64_t>(bytes[25] == PNG_COLOR_TYPE_PALETTE ? 1 : components);
  session.row_bytes = 1 + (width * samples * static_cast<std::uint64_t>(depth) + 7) / 8;
  session.opened = true;
  return {Encoding::kPng, session.size, 1, components, true};
}

void PngDecoder::decode(Rect rect, Image& out) {
  PngSession& session = *session_;
  if (!session.opened) throw Error(ErrorKind::kArgument, "PNG: decode() without a preceding open()");
  session.opened = false;
  check_length(session, rect);
  out.resize(rect.size());
  session.rect = rect;
  session.out = out.data();
  session.image = nullptr;
  if (session.interlaced) {
    const bool all = rect.size() == session.size;
    if (!all) session.whole.resize(session.size);
    session.image = all ? out.data() : session.whole.data();
  }
  session.position = 0;
  session.out_of_memory = false;

  const bool done = guarded_call(session.jump, decode_step, &session);
  // Errors while closing are ignored: the image is decoded, and the arena reclaims the memory.
  static_cast<void>(guarded_call(session.jump, close_step, &session));
  session.png = nullptr;
  session.info = nullptr;
  session.arena.reset();
  if (done) return;
  const std::string where = " (file of " + std::to_string(session.bytes.size()) + " bytes)";
  if (session.out_of_memory) throw Error(ErrorKind::kMemory, "PNG: out of memory" + where);
  throw Error(ErrorKind::kInput, std::string("PNG: ") + session.text + where);
}

}  // namespace unstarve
