#include "unstarve/codecs/nvjpeg/decode_split.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

void check(const DecodeRate& rate, const char* whose) {
  for (const double part : {rate.s_per_byte, rate.s_per_pixel, rate.s_per_batch}) {
    if (!(part >= 0) || !std::isfinite(part)) {
      throw argument_error("split decoding: the {}'s rate is {} s; expected 0 or more", whose, part);
    }
  }
}

double seconds(const DecodeRate& rate, std::size_t bytes, std::int64_t pixels) {
  return rate.s_per_byte * static_cast<double>(bytes) + rate.s_per_pixel * static_cast<double>(pixels);
}

}  // namespace

DecodeSplit split_decode(std::span<const DecodeFile> files, const DecodeRate& host, const DecodeRate& device) {
  check(host, "host");
  check(device, "device");
  struct Candidate {
    std::size_t file;
    double host_s, device_s;
  };
  std::vector<Candidate> candidates;
  DecodeSplit split;
  split.host_alone_s = files.empty() ? 0 : host.s_per_batch;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const double host_s = seconds(host, files[i].bytes, files[i].host_pixels);
    split.host_alone_s += host_s;
    if (files[i].device_can) candidates.push_back({i, host_s, seconds(device, files[i].bytes, files[i].device_pixels)});
  }
  // By descending ratio of host time to device time.
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.host_s * b.device_s > b.host_s * a.device_s;
  });
  split.host_s = split.host_alone_s;
  double host_s = split.host_alone_s, device_s = device.s_per_batch;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    host_s -= candidates[i].host_s;
    device_s += candidates[i].device_s;
    const double host_left = i + 1 == files.size() ? 0 : std::max(host_s, 0.0);
    if (std::max(host_left, device_s) < std::max(split.host_s, split.device_s)) {
      split.host_s = host_left;
      split.device_s = device_s;
      taken = i + 1;
    }
  }
  for (std::size_t i = 0; i < taken; ++i) split.on_device.push_back(candidates[i].file);
  std::sort(split.on_device.begin(), split.on_device.end());
  return split;
}

std::string explain(const DecodeSplit& split, std::span<const DecodeFile> files) {
  double all = 0, there = 0;
  for (const DecodeFile& file : files) all += static_cast<double>(file.bytes);
  for (const std::size_t i : split.on_device) there += static_cast<double>(files[i].bytes);
  return fmt::format(
      "{} of {} files on the device ({:.1f} of {:.1f} MB): host {:.1f} ms, device {:.1f} ms; the host alone {:.1f} ms",
      split.on_device.size(), files.size(), there / 1e6, all / 1e6, split.host_s * 1e3, split.device_s * 1e3,
      split.host_alone_s * 1e3);
}

}  // namespace unstarve
