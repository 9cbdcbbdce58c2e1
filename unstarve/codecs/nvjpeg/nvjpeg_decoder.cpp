#include "unstarve/codecs/nvjpeg/nvjpeg_decoder.h"

#include <fmt/format.h>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

constexpr nvjpeg::Status kBadJpeg = 3, kNotSupported = 4, kImplementationNotSupported = 9, kIncomplete = 10;

constexpr int backend_number(NvjpegBackend backend) {
  switch (backend) {
    case NvjpegBackend::kHybrid: return 1;     // NVJPEG_BACKEND_HYBRID
    case NvjpegBackend::kGpuHybrid: return 2;  // NVJPEG_BACKEND_GPU_HYBRID
    case NvjpegBackend::kHardware: return 3;   // NVJPEG_BACKEND_HARDWARE
  }
  return 0;
}

// Whether the status is about the file rather than nvJPEG.
bool rejected(nvjpeg::Status status) {
  return status == kBadJpeg || status == kNotSupported || status == kImplementationNotSupported ||
         status == kIncomplete;
}

int checked_threads(int cpu_threads) {
  if (cpu_threads < 1) throw argument_error("nvJPEG: {} CPU threads; expected 1 or more", cpu_threads);
  return cpu_threads;
}

}  // namespace

const char* to_string(NvjpegBackend backend) noexcept {
  switch (backend) {
    case NvjpegBackend::kHybrid: return "hybrid";
    case NvjpegBackend::kGpuHybrid: return "gpu_hybrid";
    case NvjpegBackend::kHardware: return "hardware";
  }
  return "";
}

std::string why_not_nvjpeg(const ImageHeader& header, NvjpegBackend backend) {
  if (header.encoding != Encoding::kJpeg) return fmt::format("{}, not JPEG", to_string(header.encoding));
  if (header.orientation != 1) return fmt::format("EXIF orientation {}", header.orientation);
  if (header.components != 1 && header.components != 3) return fmt::format("{} components", header.components);
  if (header.jpeg == JpegKind::kArithmetic) return "arithmetic coding";
  if (header.jpeg == JpegKind::kDepth) return "more than 8 bits";
  if (backend == NvjpegBackend::kHardware && (header.jpeg == JpegKind::kProgressive || header.jpeg == JpegKind::kScans))
    return "several scans, which JPEG engines do not support";
  return {};
}

NvjpegDecoder::NvjpegDecoder(const NvjpegLibrary& library, NvjpegBackend backend, int cpu_threads)
    : f_(library.functions()),
      backend_(backend),
      cpu_threads_(checked_threads(cpu_threads)),
      handles_(library, backend_number(backend), to_string(backend)) {}

std::string NvjpegDecoder::rejection(const NvjpegJob& job) {
  const nvjpeg::Status parsed =
      f_.stream_parse_header(handles_.decoder(), job.file.data(), job.file.size(), handles_.header());
  if (rejected(parsed)) return nvjpeg::status_name(parsed);
  nvjpeg::check(parsed, "read a header");
  // nvJPEG writes as many pixels as its header declares, regardless of the size of `to`.
  unsigned width = 0, height = 0;
  nvjpeg::check(f_.stream_dimensions(handles_.header(), &width, &height), "get an image's size");
  if (width != static_cast<unsigned>(job.size.width) || height != static_cast<unsigned>(job.size.height)) {
    return fmt::format("nvJPEG reads {}x{} pixels, the host {}x{}", width, height, job.size.width, job.size.height);
  }
  if (backend_ != NvjpegBackend::kHardware) return {};
  int unsupported = 1;
  const nvjpeg::Status checked = f_.batched_supported(handles_.decoder(), handles_.header(), &unsupported);
  if (rejected(checked)) return nvjpeg::status_name(checked);
  nvjpeg::check(checked, "check whether a file is supported");
  return unsupported == 0 ? std::string() : "not supported by the JPEG engines";
}

std::span<const std::string> NvjpegDecoder::decode(std::span<const NvjpegJob> jobs, void* cuda_stream) {
  rejections_.assign(jobs.size(), {});
  batch_.clear();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    rejections_[i] = rejection(jobs[i]);
    if (rejections_[i].empty()) batch_.add(i, jobs[i]);
  }
  if (batch_.size() == 0) return rejections_;
  const auto batch = static_cast<int>(batch_.size());
  if (initialized_for_ != batch) {
    initialized_for_ = 0;
    nvjpeg::check(
        f_.batched_initialize(handles_.decoder(), handles_.state(), batch, cpu_threads_, nvjpeg::kRgbInterleaved),
        "start a batch");
    initialized_for_ = batch;
  }
  const nvjpeg::Status status = f_.decode_batched(handles_.decoder(), handles_.state(), batch_.files(),
                                                  batch_.lengths(), batch_.images(), cuda_stream);
  if (rejected(status)) {
    decode_one_by_one(jobs, cuda_stream);
  } else {
    nvjpeg::check(status, "decode a batch");
  }
  return rejections_;
}

void NvjpegDecoder::decode_one_by_one(std::span<const NvjpegJob> jobs, void* cuda_stream) {
  initialized_for_ = 0;  // the state is in the middle of a batch
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const NvjpegJob& job = jobs[batch_.index(k)];
    const nvjpeg::Status status = f_.decode(handles_.decoder(), handles_.state(), job.file.data(), job.file.size(),
                                            nvjpeg::kRgbInterleaved, &batch_.images()[k], cuda_stream);
    if (rejected(status)) {
      rejections_[batch_.index(k)] = nvjpeg::status_name(status);
    } else {
      nvjpeg::check(status, "decode a file");
    }
  }
}

}  // namespace unstarve
