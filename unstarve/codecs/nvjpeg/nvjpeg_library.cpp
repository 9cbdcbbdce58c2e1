#include "unstarve/codecs/nvjpeg/nvjpeg_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

constexpr const char* kRemedy =
    "; install the wheel nvidia-nvjpeg (nvidia-nvjpeg-cu12 for drivers of CUDA 12); Python finds it, for the program "
    "set UNSTARVE_NVJPEG to the path of its libnvjpeg.so.*";

template <class F>
void find(void* library, const std::string& path, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (function == nullptr) {
    throw missing_error("nvJPEG: {} has no function {}; expected nvJPEG 12 or 13{}", path, name, kRemedy);
  }
}

nvjpeg::Functions functions_of(void* library, const std::string& path) {
  nvjpeg::Functions f;
  find(library, path, "nvjpegGetProperty", f.get_property);
  find(library, path, "nvjpegCreateEx", f.create);
  find(library, path, "nvjpegDestroy", f.destroy);
  find(library, path, "nvjpegJpegStateCreate", f.state_create);
  find(library, path, "nvjpegJpegStateDestroy", f.state_destroy);
  find(library, path, "nvjpegJpegStreamCreate", f.stream_create);
  find(library, path, "nvjpegJpegStreamDestroy", f.stream_destroy);
  find(library, path, "nvjpegJpegStreamParseHeader", f.stream_parse_header);
  find(library, path, "nvjpegJpegStreamGetFrameDimensions", f.stream_dimensions);
  find(library, path, "nvjpegDecodeBatchedSupported", f.batched_supported);
  find(library, path, "nvjpegDecodeBatchedInitialize", f.batched_initialize);
  find(library, path, "nvjpegDecodeBatched", f.decode_batched);
  find(library, path, "nvjpegDecode", f.decode);
  return f;
}

// The major version of CUDA in the library's name; 0 if the name has none.
int cuda_major(const std::string& path) {
  constexpr std::string_view kSuffix = ".so.";
  const std::size_t at = path.rfind(kSuffix);
  return at == std::string::npos ? 0 : std::atoi(path.c_str() + at + kSuffix.size());
}

}  // namespace

namespace nvjpeg {

std::string status_name(Status status) {
  constexpr std::array kNames = {"SUCCESS",
                                 "NOT_INITIALIZED",
                                 "INVALID_PARAMETER",
                                 "BAD_JPEG",
                                 "JPEG_NOT_SUPPORTED",
                                 "ALLOCATOR_FAILURE",
                                 "EXECUTION_FAILED",
                                 "ARCH_MISMATCH",
                                 "INTERNAL_ERROR",
                                 "IMPLEMENTATION_NOT_SUPPORTED",
                                 "INCOMPLETE_BITSTREAM"};
  const auto index = static_cast<std::size_t>(status);
  return status >= 0 && index < kNames.size() ? kNames[index] : fmt::format("status {}", status);
}

}  // namespace nvjpeg

NvjpegLibrary NvjpegLibrary::open_any(const std::vector<std::string>& wheels, const std::string& driver) {
  const char* const named = std::getenv("UNSTARVE_NVJPEG");
  if (named != nullptr && *named != '\0') return open_first({named}, driver);
  std::vector<std::string> paths = wheels;
  paths.insert(paths.end(), {"libnvjpeg.so.13", "libnvjpeg.so.12"});
  return open_first(paths, driver);
}

NvjpegLibrary NvjpegLibrary::open_first(const std::vector<std::string>& paths, const std::string& driver) {
  std::string reasons;
  for (const std::string& path : paths) {
    if (!reasons.empty()) reasons += "; ";
    if (!driver.empty() && cuda_major(path) > std::atoi(driver.c_str())) {
      reasons += fmt::format("{} requires CUDA {}, the driver supports up to CUDA {}", path, cuda_major(path), driver);
      continue;
    }
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      std::shared_ptr<void> loaded(library, [](void* handle) { (void)dlclose(handle); });
      NvjpegLibrary opened(functions_of(library, path), dlsym(library, "unstarve_decodes_to_host") != nullptr);
      opened.path_ = path;
      opened.loaded_ = std::move(loaded);
      return opened;
    }
    const char* const reason = dlerror();
    reasons += reason != nullptr ? reason : path;
  }
  throw missing_error("nvJPEG was not found: {}{}", reasons, kRemedy);
}

std::string NvjpegLibrary::version() const {
  std::string version;
  for (int part = 0; part < 3; ++part) {  // MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL
    int value = 0;
    if (functions_.get_property(part, &value) != 0) return "unknown";
    version += (part > 0 ? "." : "") + std::to_string(value);
  }
  return version;
}

}  // namespace unstarve
