#include "unstarve/codecs/nvjpeg/nvjpeg_decoder.h"

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr nvjpeg::Status kSuccess = 0, kBadJpeg = 3, kNotSupported = 4, kAllocatorFailure = 5,
                         kImplementationNotSupported = 9, kIncomplete = 10;

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

nvjpeg::Image image_of(const NvjpegJob& job) {
  nvjpeg::Image image;
  image.channel[0] = job.to;
  image.pitch[0] = static_cast<std::size_t>(job.size.width) * kChannels;
  return image;
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
    : f_(library.functions()), backend_(backend_number(backend)), cpu_threads_(cpu_threads) {
  if (cpu_threads < 1) {
    throw Error(ErrorKind::kArgument, fmt::format("nvJPEG: {} CPU threads, expected 1 or more", cpu_threads));
  }
  // Interpolates chroma like libjpeg-turbo; otherwise edges would differ by dozens.
  const nvjpeg::Status status = f_.create(backend_, nullptr, nullptr, nvjpeg::kUpsamplingWithInterpolation, &handle_);
  if (status != kSuccess) {
    throw Error(ErrorKind::kMissing,
                fmt::format("nvJPEG {}, backend {}: no decoder on this machine ({}); expected a GPU with its driver{}",
                            library.version(), to_string(backend), nvjpeg::status_name(status),
                            backend == NvjpegBackend::kHardware ? " and JPEG engines (A100, H100 or later)" : ""));
  }
  nvjpeg::Status created = f_.state_create(handle_, &state_);
  if (created == kSuccess) {
    created = f_.stream_create(handle_, &header_);
    if (created != kSuccess) (void)f_.state_destroy(state_);
  }
  if (created != kSuccess) (void)f_.destroy(handle_);
  check(created, "create a decoder state");
}

NvjpegDecoder::~NvjpegDecoder() {
  (void)f_.stream_destroy(header_);
  (void)f_.state_destroy(state_);
  (void)f_.destroy(handle_);
}

void NvjpegDecoder::check(nvjpeg::Status status, const char* what) const {
  if (status == kSuccess) return;
  throw Error(status == kAllocatorFailure ? ErrorKind::kMemory : ErrorKind::kInternal,
              fmt::format("nvJPEG, {}: {}", what, nvjpeg::status_name(status)));
}

std::string NvjpegDecoder::rejection(const NvjpegJob& job) {
  const nvjpeg::Status parsed = f_.stream_parse_header(handle_, job.file.data(), job.file.size(), header_);
  if (rejected(parsed)) return nvjpeg::status_name(parsed);
  check(parsed, "read a header");
  // nvJPEG writes as many pixels as its header declares, regardless of the size of `to`.
  unsigned width = 0, height = 0;
  check(f_.stream_dimensions(header_, &width, &height), "get an image's size");
  if (width != static_cast<unsigned>(job.size.width) || height != static_cast<unsigned>(job.size.height)) {
    return fmt::format("nvJPEG reads {}x{} pixels, the host {}x{}", width, height, job.size.width, job.size.height);
  }
  if (backend_ != backend_number(NvjpegBackend::kHardware)) return {};
  int unsupported = 1;
  const nvjpeg::Status checked = f_.batched_supported(handle_, header_, &unsupported);
  if (rejected(checked)) return nvjpeg::status_name(checked);
  check(checked, "check whether a file is supported");
  return unsupported == 0 ? std::string() : "not supported by the JPEG engines";
}

std::span<const std::string> NvjpegDecoder::decode(std::span<const NvjpegJob> jobs, void* cuda_stream) {
  rejections_.assign(jobs.size(), {});
  accepted_.clear();
  data_.clear();
  lengths_.clear();
  images_.clear();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    rejections_[i] = rejection(jobs[i]);
    if (!rejections_[i].empty()) continue;
    accepted_.push_back(i);
    data_.push_back(jobs[i].file.data());
    lengths_.push_back(jobs[i].file.size());
    images_.push_back(image_of(jobs[i]));
  }
  if (accepted_.empty()) return rejections_;
  const auto batch = static_cast<int>(accepted_.size());
  if (initialized_for_ != batch) {
    initialized_for_ = 0;
    check(f_.batched_initialize(handle_, state_, batch, cpu_threads_, nvjpeg::kRgbInterleaved), "start a batch");
    initialized_for_ = batch;
  }
  const nvjpeg::Status status =
      f_.decode_batched(handle_, state_, data_.data(), lengths_.data(), images_.data(), cuda_stream);
  if (rejected(status)) {
    decode_one_by_one(jobs, cuda_stream);
  } else {
    check(status, "decode a batch");
  }
  return rejections_;
}

void NvjpegDecoder::decode_one_by_one(std::span<const NvjpegJob> jobs, void* cuda_stream) {
  ++batches_split_;
  initialized_for_ = 0;  // the state is in the middle of a batch
  for (std::size_t k = 0; k < accepted_.size(); ++k) {
    const NvjpegJob& job = jobs[accepted_[k]];
    const nvjpeg::Status status =
        f_.decode(handle_, state_, job.file.data(), job.file.size(), nvjpeg::kRgbInterleaved, &images_[k], cuda_stream);
    if (rejected(status)) {
      rejections_[accepted_[k]] = nvjpeg::status_name(status);
    } else {
      check(status, "decode a file");
    }
  }
}

}  // namespace unstarve
