#pragma once
// NVIDIA's JPEG decoder, taken when the program runs: from its PyPI wheel (nvidia-nvjpeg) or a CUDA toolkit.
//
// Nothing of it is needed to build; the few declarations here are of its C interface as nvjpeg.h of 12.4 and 13.3 has
// it. A process that opens the library and has no GPU gets as far as the first handle, which nvJPEG then refuses.
//
// Ownership: the library stays loaded as long as the NvjpegLibrary lives, which must outlive its decoders.
// Threads:   const. Failure: Error(kMissing), saying where it was looked for and what to install.

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
  // The library at `path`.
  [[nodiscard]] static NvjpegLibrary open(const std::string& path);
  // The one at $UNSTARVE_NVJPEG; without, the first that can be loaded of `wheels`, where a caller knows such paths,
  // and of libnvjpeg.so.13 and .12 where the loader looks. `driver`: up to which version of CUDA the device's driver
  // goes, "12.4"; libraries whose names are of a later major version could be loaded, but not run, and are passed over.
  // Empty: any will do.
  [[nodiscard]] static NvjpegLibrary open_any(const std::vector<std::string>& wheels = {},
                                              const std::string& driver = {});
  // Of functions that are in the process already.
  explicit NvjpegLibrary(const nvjpeg::Functions& functions, bool to_host = false)
      : functions_(functions), to_host_(to_host) {}

  [[nodiscard]] const nvjpeg::Functions& functions() const { return functions_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // as it was given to the loader
  // Whether it decodes into the host's memory: nvJPEG does not. A library that stands in for it where there is no GPU
  // says so by having a symbol unstarve_decodes_to_host.
  [[nodiscard]] bool to_host() const { return to_host_; }
  [[nodiscard]] std::string version() const;  // "13.3.2"

 private:
  [[nodiscard]] static NvjpegLibrary open_first(const std::vector<std::string>& places, const std::string& driver = {});

  nvjpeg::Functions functions_;
  std::string path_;
  bool to_host_ = false;
  std::shared_ptr<void> loaded_;
};

}  // namespace unstarve
