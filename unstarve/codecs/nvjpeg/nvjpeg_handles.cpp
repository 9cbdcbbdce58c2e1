#include "unstarve/codecs/nvjpeg/nvjpeg_handles.h"

#include <fmt/format.h>

#include <string_view>

#include "unstarve/core/format_error.h"

namespace unstarve {

void nvjpeg::check(Status status, const char* what) {
  constexpr Status kAllocatorFailure = 5;
  if (status == 0) return;
  throw Error(status == kAllocatorFailure ? ErrorKind::kMemory : ErrorKind::kInternal,
              fmt::format("nvJPEG, {}: {}", what, status_name(status)));
}

NvjpegHandles::NvjpegHandles(const NvjpegLibrary& library, int backend, const char* name) : f_(library.functions()) {
  // Interpolates chroma like libjpeg-turbo; otherwise edges would differ by dozens.
  const nvjpeg::Status status = f_.create(backend, nullptr, nullptr, nvjpeg::kUpsamplingWithInterpolation, &decoder_);
  if (status != 0) {
    throw missing_error("nvJPEG {}, backend {}: no decoder on this machine ({}); expected a GPU with its driver{}",
                        library.version(), name, nvjpeg::status_name(status),
                        std::string_view(name) == "hardware" ? " and JPEG engines (A100, H100 or later)" : "");
  }
  nvjpeg::Status created = f_.state_create(decoder_, &state_);
  if (created == 0) {
    created = f_.stream_create(decoder_, &header_);
    if (created != 0) (void)f_.state_destroy(state_);
  }
  if (created != 0) (void)f_.destroy(decoder_);
  nvjpeg::check(created, "create a decoder state");
}

NvjpegHandles::~NvjpegHandles() {
  (void)f_.stream_destroy(header_);
  (void)f_.state_destroy(state_);
  (void)f_.destroy(decoder_);
}

}  // namespace unstarve
