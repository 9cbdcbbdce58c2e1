#include "unstarve/pipeline/device/decode_balance.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

// Streams of the samples' operations count from 0, those of batches from 0x8000'0000.
constexpr std::uint32_t kStream = 0x4000'0000U;
// Number of recent files that a split considers, and number of files between splits.
constexpr std::size_t kRecent = 512;
constexpr std::size_t kSplitEvery = 128;
// Both rates require this number of measurements; until then, kFirstShare of the files goes to the device.
constexpr std::uint64_t kFilesMeasured = 16, kBatchesMeasured = 2;
constexpr double kFirstShare = 0.25;
// Share of the files that go to the decoder that was not chosen, so that its rate stays up to date.
constexpr double kTried = 1.0 / 64;

}  // namespace

DecodeBalance::DecodeBalance(NvjpegBackend backend, std::uint64_t seed, std::optional<double> share)
    : backend_(backend), seed_(seed), share_(share), host_(1024), device_(32) {
  if (share && !(*share >= 0 && *share <= 1)) {
    throw Error(ErrorKind::kArgument, fmt::format("decode_share: {}, expected 0 to 1", *share));
  }
  recent_.reserve(kRecent);
}

void DecodeBalance::set_host_threads(int threads) {
  const std::lock_guard lock(mutex_);
  host_threads_ = std::max(threads, 1);
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
  Random random(seed_, epoch, id, kStream);
  const double drawn = random.uniform(), tied = random.uniform();

  const std::lock_guard lock(mutex_);
  ++seen_;
  if (!share_) note(file);
  if (!file.device_can) {
    ++left_out_[why_not];
    return false;
  }
  const bool goes = share_ ? drawn < *share_ : by_rates(file, drawn, tied);
  if (goes) ++given_;
  return goes;
}

bool DecodeBalance::by_rates(const DecodeFile& file, double drawn, double tied) const {
  if (!border_) return drawn < kFirstShare;
  const Border& border = *border_;
  const auto seconds = [&](const DecodeRate& rate, std::int64_t pixels) {
    return rate.s_per_byte * static_cast<double>(file.bytes) + rate.s_per_pixel * static_cast<double>(pixels);
  };
  // Compares host_s / device_s of this file with that of the border's file, without division.
  const double its = seconds(border.host, file.host_pixels) * border.device_s;
  const double least = border.host_s * seconds(border.device, file.device_pixels);
  const bool goes = border.any && (its > least || (its == least && tied < border.tied_share));
  return drawn < kTried ? !goes : goes;
}

void DecodeBalance::note(const DecodeFile& file) {
  if (recent_.size() < kRecent) {
    recent_.push_back(file);
  } else {
    recent_[next_recent_] = file;
  }
  next_recent_ = (next_recent_ + 1) % kRecent;
  if (++since_split_ < kSplitEvery) return;
  if (host_.measurements() < kFilesMeasured || device_.measurements() < kBatchesMeasured) return;
  since_split_ = 0;
  split();
}

void DecodeBalance::split() {
  Border border;
  border.host = host_.rate();
  border.host.s_per_byte /= host_threads_;
  border.host.s_per_pixel /= host_threads_;
  border.device = device_.rate();
  const DecodeSplit split = split_decode(recent_, border.host, border.device);
  last_split_ = unstarve::explain(split, recent_);
  border.any = !split.on_device.empty();
  const auto host_s = [&](const DecodeFile& file) {
    return border.host.s_per_byte * static_cast<double>(file.bytes) +
           border.host.s_per_pixel * static_cast<double>(file.host_pixels);
  };
  const auto device_s = [&](const DecodeFile& file) {
    return border.device.s_per_byte * static_cast<double>(file.bytes) +
           border.device.s_per_pixel * static_cast<double>(file.device_pixels);
  };
  for (std::size_t i = 0; i < split.on_device.size(); ++i) {
    const DecodeFile& file = recent_[split.on_device[i]];
    const double h = host_s(file), d = device_s(file);
    if (i > 0 && h * border.device_s >= border.host_s * d) continue;
    border.host_s = h;
    border.device_s = d;
  }
  const auto at_border = [&](const DecodeFile& file) {
    return file.device_can && host_s(file) * border.device_s == border.host_s * device_s(file);
  };
  const auto all = std::count_if(recent_.begin(), recent_.end(), at_border);
  const auto went = std::count_if(split.on_device.begin(), split.on_device.end(),
                                  [&](std::size_t i) { return at_border(recent_[i]); });
  border.tied_share = all > 0 ? static_cast<double>(went) / static_cast<double>(all) : 0;
  border_ = border;
}

void DecodeBalance::host_took(std::size_t bytes, std::int64_t pixels, double seconds) {
  const std::lock_guard lock(mutex_);
  host_.add(static_cast<double>(bytes), static_cast<double>(pixels), seconds);
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
  device_.add(bytes, pixels, seconds);
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
  if (!share_ && seen_ > 0) {
    text += "decode      " +
            (border_ ? "latest split: " + last_split_
                     : fmt::format("a share of {} until both rates are measured", kFirstShare)) +
            "\n";
  }
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
