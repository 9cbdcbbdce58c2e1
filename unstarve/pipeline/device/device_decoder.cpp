#include "unstarve/pipeline/device/device_decoder.h"

#include <utility>

#include <fmt/format.h>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

std::size_t image_bytes(const FileExtent& file) {
  return static_cast<std::size_t>(file[1]) * static_cast<std::size_t>(file[2]) * kChannels;
}

}  // namespace

std::size_t decoded_bytes(std::span<const FileExtent> files) {
  std::size_t bytes = 0;
  for (const FileExtent& file : files)
    if (file[0] > 0) bytes += image_bytes(file);
  return bytes;
}

NvjpegLibrary open_nvjpeg(const Device& device, const std::vector<std::string>& wheels) {
  return NvjpegLibrary::open_any(wheels, device.is_host() ? std::string() : report_devices().driver);
}

DeviceDecoder::DeviceDecoder(Options options, Device& device) : options_(std::move(options)), device_(device) {
  if (options_.library.to_host() != device_.is_host()) {
    throw argument_error("decode: {} decodes into {}, but the batches are for {}; expected {}",
                         options_.library.path().empty() ? "nvJPEG" : options_.library.path(),
                         options_.library.to_host() ? "the host's memory" : "a GPU's memory", device_.name(),
                         device_.is_host() ? "device cuda, or decode host" : "nvJPEG in UNSTARVE_NVJPEG");
  }
  (void)device_.make_stream()->record();  // makes the device current in this thread
  nvjpeg_ = std::make_unique<NvjpegDecoder>(options_.library, options_.balance->backend(), options_.cpu_threads);
}

void DeviceDecoder::take_times() {
  while (!queued_.empty() && queued_.front().done->done()) {
    const Queued& batch = queued_.front();
    options_.balance->device_took(batch.files, batch.done->seconds_since(*batch.begun));
    queued_.pop_front();
  }
}

void DeviceDecoder::decode_on_host(const NvjpegJob& job, std::uint64_t id, const std::string& rejection,
                                   Stream& stream) {
  const std::string location = options_.dataset->location(id);
  try {
    host_.open(job.file);
    host_.decode({}, decoded_);
  } catch (const Error& error) {
    throw Error(error.kind(), location + ": " + error.what());
  }
  device_.copy_to_device(job.to, decoded_.data(), decoded_.bytes(), stream);  // reads decoded_ before it returns
  options_.balance->count_rejected(location, rejection);
}

std::span<const SourceImage> DeviceDecoder::decode(const DeviceBatch& batch, std::size_t sample_bytes, Stream& stream) {
  const std::span<const FileExtent> files = batch.files;
  take_times();
  images_.assign(files.size(), {});
  jobs_.clear();
  samples_.clear();
  std::size_t end = files.size() * sample_bytes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i][0] == 0) continue;
    const Size size{files[i][2], files[i][1]};
    images_[i] = SourceImage::interleaved(static_cast<std::int64_t>(end), size);
    jobs_.push_back({{batch.host + i * sample_bytes, static_cast<std::size_t>(files[i][0])}, size, batch.source + end});
    samples_.push_back(i);
    end += image_bytes(files[i]);
  }
  if (jobs_.empty()) return images_;
  // The JPEG engines write when the call is made, before earlier work of the stream has read the same memory
  // (https://github.com/meta-pytorch/torchcodec/pull/1634). An event in the stream does not delay them.
  if (options_.balance->backend() == NvjpegBackend::kHardware) stream.synchronise();
  Queued queued{stream.record_timed(), nullptr, {files.begin(), files.end()}};
  const std::span<const std::string> rejections = nvjpeg_->decode(jobs_, stream.native());
  queued.done = stream.record_timed();
  for (std::size_t k = 0; k < jobs_.size(); ++k) {
    if (rejections[k].empty()) continue;
    decode_on_host(jobs_[k], batch.ids[samples_[k]], rejections[k], stream);
    queued.files[samples_[k]] = {};
  }
  queued_.push_back(std::move(queued));
  return images_;
}

std::string DeviceDecoder::explain() const {
  return fmt::format("decode      nvJPEG {}, backend {}{}; other files on the host\n", options_.library.version(),
                     to_string(options_.balance->backend()),
                     options_.library.to_host() ? ", replaced by a library on the host" : "") +
         options_.balance->explain();
}

}  // namespace unstarve
