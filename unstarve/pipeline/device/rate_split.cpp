#include "unstarve/pipeline/device/rate_split.h"

#include <algorithm>

#include <fmt/format.h>

namespace unstarve {
namespace {

// Number of recent files that a split considers, and number of files between splits.
constexpr std::size_t kRecent = 512;
constexpr std::size_t kSplitEvery = 128;
// Both rates require this number of measurements; until then, kFirstShare of the files goes to the device.
constexpr std::uint64_t kFilesMeasured = 16, kBatchesMeasured = 2;
constexpr double kFirstShare = 0.25;
// Share of the files that go to the decoder that was not chosen, so that its rate stays up to date.
constexpr double kTried = 1.0 / 64;

}  // namespace

RateSplit::RateSplit() : host_(1024), device_(32) { recent_.reserve(kRecent); }

void RateSplit::set_host_threads(int threads) { host_threads_ = std::max(threads, 1); }

bool RateSplit::to_device(const DecodeFile& file, double drawn, double tied) const {
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

void RateSplit::add(const DecodeFile& file) {
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

void RateSplit::split() {
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

std::string RateSplit::explain() const {
  if (border_) return "latest split: " + last_split_;
  return fmt::format("a share of {} until both rates are measured", kFirstShare);
}

}  // namespace unstarve
