#include "unstarve/pipeline/device/decode_balance.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "unstarve/core/format_error.h"
#include "unstarve/core/random.h"

namespace unstarve {
DecodeBalance::DecodeBalance(NvjpegBackend backend, std::uint64_t seed, std::optional<double> share)
    : backend_(backend), seed_(seed), share_(share) {
  if (share && !(*share >= 0 && *share <= 1)) {
    throw argument_error("decode_share: {}; expected 0 to 1", *share);
  }
}

void DecodeBalance::set_host_threads(int threads) {
  const std::lock_guard lock(mutex_);
  rates_.set_host_threads(threads);
}

bool DecodeBalance::to_device(std::uint32_t epoch, std::uint64_t id, const File& offered) {
  const ImageHeader& header = offered.header;
  const std::int64_t pixels = std::int64_t{header.size.width} * header.size.height;
  std::string why_not = why_not_nvjpeg(header, backend_);
  if (why_not.empty() &&
      offered.bytes > std::min<std::size_t>(offered.sample_bytes, std::numeric_limits<std::int32_t>::max())) {
    why_not = "files larger than a sample of the batch";
  }
  if (why_not.empty() && static_cast<std::uint64_t>(pixels) * kChannels > kMostDecoded * offered.sample_bytes) {
    why_not = fmt::format("images of more than {} times the bytes of a sample", kMostDecoded);
  }
  const DecodeFile file{offered.bytes, offered.host_pixels, pixels, why_not.empty()};
  Random random(seed_, epoch, id, kDecodeDeviceStream);
  const double drawn = random.uniform(), tied = random.uniform();

  const std::lock_guard lock(mutex_);
  ++seen_;
  if (!share_) rates_.add(file);
  if (!file.device_can) {
    ++left_out_[why_not];
    return false;
  }
  const bool goes = share_ ? drawn < *share_ : rates_.to_device(file, drawn, tied);
  if (goes) ++given_;
  return goes;
}

void DecodeBalance::host_took(std::size_t bytes, std::int64_t pixels, double seconds) {
  const std::lock_guard lock(mutex_);
  rates_.host_took(static_cast<double>(bytes), static_cast<double>(pixels), seconds);
}

void DecodeBalance::device_took(std::span<const FileExtent> files, double seconds) {
  double bytes = 0, pixels = 0;
  for (const FileExtent& file : files) {
    if (file[0] == 0) continue;
    bytes += file[0];
    pixels += static_cast<double>(file[1]) * file[2];
  }
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  rates_.device_took(bytes, pixels, seconds);
}

void DecodeBalance::count_rejected(const std::string& file, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  ++rejected_;
  last_rejected_ = file + ": " + reason;
}

std::string DecodeBalance::explain() const {
  const std::lock_guard lock(mutex_);
  std::string text =
      share_ ? fmt::format("decode      a share of {:.3g} of the supported files on the device, selected by sample\n",
                           *share_)
             : std::string("decode      files split between device and host by measured decoding rates\n");
  if (seen_ > 0) {
    text += fmt::format("decode      {} of {} files went to the device", given_, seen_);
    std::string reasons;
    std::uint64_t left_out = 0;
    for (const auto& [reason, count] : left_out_) {
      reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : "; ", reason, count);
      left_out += count;
    }
    text += left_out > 0 ? fmt::format("; {} not supported: {}\n", left_out, reasons) : "\n";
  }
  if (!share_ && seen_ > 0) text += "decode      " + rates_.explain() + "\n";
  if (rejected_ > 0) {
    text += fmt::format("decode      {} rejected by nvJPEG and decoded by the host; the latest: {}\n", rejected_,
                        last_rejected_);
  }
  return text;
}

std::shared_ptr<DecodeBalance> make_decode_balance(const PipelineSpec& spec) {
  const auto make = [&](NvjpegBackend backend) {
    return std::make_shared<DecodeBalance>(backend, spec.order.seed, spec.device.decode_share);
  };
  switch (spec.device.decode) {
    case DecodeOn::kHost: break;
    case DecodeOn::kHybrid: return make(NvjpegBackend::kHybrid);
    case DecodeOn::kGpuHybrid: return make(NvjpegBackend::kGpuHybrid);
    case DecodeOn::kHardware: return make(NvjpegBackend::kHardware);
  }
  return {};
}

}  // namespace unstarve
