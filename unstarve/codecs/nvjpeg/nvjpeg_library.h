#pragma once
// NVIDIA's JPEG decoder, loaded at run time from its PyPI wheel (nvidia-nvjpeg) or a CUDA toolkit.
//
// The build does not need nvJPEG: this header declares the few C functions that are used, as in nvjpeg.h of 12.4 and
// 13.3. Without a GPU the library can be loaded, but nvJPEG fails to create a handle.
//
// Ownership: the library stays loaded while the NvjpegLibrary exists, which must outlive its decoders.
// Threads:   const. Failure: Error(kMissing) with the paths tried and what to install.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace unstarve {

// As in nvjpeg.h: nvjpegStatus_t, nvjpegImage_t, handles and streams as addresses.
namespace nvjpeg {

using Status = int;  // nvjpegStatus_t; 0: success
inline constexpr int kMaxComponents = 4;
inline constexpr int kRgbInterleaved = 5;                     // NVJPEG_OUTPUT_RGBI
inline constexpr unsigned kUpsamplingWithInterpolation = 32;  // NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION

struct Image {
  unsigned char* channel[kMaxComponents] = {};
  std::size_t pitch[kMaxComponents] = {};
};

struct Functions {
  Status (*get_property)(int type, int* value) = nullptr;
  Status (*create)(int backend, void* device_allocator, void* pinned_allocator, unsigned flags,
                   void** handle) = nullptr;
  Status (*destroy)(void* handle) = nullptr;
  Status (*state_create)(void* handle, void** state) = nullptr;
  Status (*state_destroy)(void* state) = nullptr;
  Status (*stream_create)(void* handle, void** jpeg_stream) = nullptr;
  Status (*stream_destroy)(void* jpeg_stream) = nullptr;
  Status (*stream_parse_header)(void* handle, const unsigned char* data, std::size_t length,
                                void* jpeg_stream) = nullptr;
  Status (*stream_dimensions)(void* jpeg_stream, unsigned* width, unsigned* height) = nullptr;
  Status (*batched_supported)(void* handle, void* jpeg_stream, int* is_supported) = nullptr;  // 0: it is
  Status (*batched_initialize)(void* handle, void* state, int batch, int cpu_threads, int output_format) = nullptr;
  Status (*decode_batched)(void* handle, void* state, const unsigned char* const* data, const std::size_t* lengths,
                           Image* destinations, void* cuda_stream) = nullptr;
  Status (*decode)(void* handle, void* state, const unsigned char* data, std::size_t length, int output_format,
                   Image* destination, void* cuda_stream) = nullptr;
};

// "JPEG_NOT_SUPPORTED", ...
[[nodiscard]] std::string status_name(Status status);

}  // namespace nvjpeg

class NvjpegLibrary {
 public:
  // The library at $UNSTARVE_NVJPEG. If that is not set, the first one that can be loaded of `wheels` (paths known to
  // the caller), then of libnvjpeg.so.13 and .12 in the loader's search path. `driver`: the latest CUDA version that
  // the device's driver supports, for example "12.4". Libraries of a later major version, according to their names, are
  // skipped because they could be loaded but not run. Empty: no limit.
  [[nodiscard]] static NvjpegLibrary open_any(const std::vector<std::string>& wheels = {},
                                              const std::string& driver = {});
  // From functions that are already in the process.
  explicit NvjpegLibrary(const nvjpeg::Functions& functions, bool to_host = false)
      : functions_(functions), to_host_(to_host) {}

  [[nodiscard]] const nvjpeg::Functions& functions() const { return functions_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // as passed to the loader
  // Whether the library decodes into host memory. nvJPEG does not; a replacement for machines without a GPU defines the
  // symbol unstarve_decodes_to_host.
  [[nodiscard]] bool to_host() const { return to_host_; }
  [[nodiscard]] std::string version() const;  // "13.3.2"

 private:
  [[nodiscard]] static NvjpegLibrary open_first(const std::vector<std::string>& paths, const std::string& driver = {});

  nvjpeg::Functions functions_;
  std::string path_;
  bool to_host_ = false;
  std::shared_ptr<void> loaded_;
};

}  // namespace unstarve
