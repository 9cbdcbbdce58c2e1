#pragma once
// Replacements of nvJPEG's functions that decode into host memory with libjpeg-turbo. They reject incomplete JPEG
// files, a batch with one bad file and, in the hardware backend, progressive files.
//
// Threads: any; each handle and state is used by one thread at a time.

#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include "unstarve/codecs/nvjpeg/nvjpeg_library.h"

namespace unstarve::testing {

struct JpegFailure {
  jpeg_error_mgr errors;
  std::jmp_buf back;
};

inline void leave(j_common_ptr jpeg) { std::longjmp(reinterpret_cast<JpegFailure*>(jpeg->err)->back, 1); }
// Warnings mean invented pixels.
inline void leave_if_warning(j_common_ptr jpeg, int level) {
  if (level < 0) leave(jpeg);
}

struct HostJpegHeader {
  unsigned width = 0, height = 0;
  bool progressive = false;
};

// Decodes to rows of `pitch` bytes at `to`, or only reads the header if `to` is null. False if the file is rejected.
inline bool decode_jpeg(const unsigned char* data, std::size_t length, HostJpegHeader& header, unsigned char* to,
                        std::size_t pitch) {
  jpeg_decompress_struct jpeg{};
  JpegFailure failure{};
  jpeg.err = jpeg_std_error(&failure.errors);
  failure.errors.error_exit = leave;
  failure.errors.emit_message = leave_if_warning;
  failure.errors.output_message = [](j_common_ptr) {};
  if (setjmp(failure.back) != 0) {
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, data, length);
  jpeg_read_header(&jpeg, TRUE);
  header = {jpeg.image_width, jpeg.image_height, jpeg.progressive_mode == TRUE};
  if (to != nullptr) {
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      JSAMPROW row = to + jpeg.output_scanline * pitch;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
  }
  jpeg_destroy_decompress(&jpeg);
  return true;
}

inline nvjpeg::Functions host_functions() {
  constexpr nvjpeg::Status kSuccess = 0, kInvalid = 2, kBad = 3;
  struct Batch {
    int files = 0;
  };
  nvjpeg::Functions f;
  f.get_property = [](int, int* value) { return *value = 0, kSuccess; };
  f.create = [](int backend, void*, void*, unsigned, void** handle) {
    *handle = new int(backend);
    return kSuccess;
  };
  f.destroy = [](void* handle) { return delete static_cast<int*>(handle), kSuccess; };
  f.state_create = [](void*, void** state) { return *state = new Batch, kSuccess; };
  f.state_destroy = [](void* state) { return delete static_cast<Batch*>(state), kSuccess; };
  f.stream_create = [](void*, void** stream) { return *stream = new HostJpegHeader, kSuccess; };
  f.stream_destroy = [](void* stream) { return delete static_cast<HostJpegHeader*>(stream), kSuccess; };
  f.stream_parse_header = [](void*, const unsigned char* data, std::size_t length, void* stream) {
    return decode_jpeg(data, length, *static_cast<HostJpegHeader*>(stream), nullptr, 0) ? kSuccess : kBad;
  };
  f.stream_dimensions = [](void* stream, unsigned* width, unsigned* height) {
    *width = static_cast<HostJpegHeader*>(stream)->width;
    *height = static_cast<HostJpegHeader*>(stream)->height;
    return kSuccess;
  };
  f.batched_supported = [](void*, void* stream, int* not_supported) {
    *not_supported = static_cast<HostJpegHeader*>(stream)->progressive ? 1 : 0;
    return kSuccess;
  };
  f.batched_initialize = [](void*, void* state, int files, int, int format) {
    static_cast<Batch*>(state)->files = files;
    return format == nvjpeg::kRgbInterleaved ? kSuccess : kInvalid;
  };
  f.decode_batched = [](void*, void* state, const unsigned char* const* data, const std::size_t* lengths,
                        nvjpeg::Image* to, void*) {
    HostJpegHeader header;
    for (int i = 0; i < static_cast<Batch*>(state)->files; ++i)
      if (!decode_jpeg(data[i], lengths[i], header, to[i].channel[0], to[i].pitch[0])) return kBad;
    return kSuccess;
  };
  f.decode = [](void*, void*, const unsigned char* data, std::size_t length, int, nvjpeg::Image* to, void*) {
    HostJpegHeader header;
    return decode_jpeg(data, length, header, to->channel[0], to->pitch[0]) ? kSuccess : kBad;
  };
  return f;
}

}  // namespace unstarve::testing
