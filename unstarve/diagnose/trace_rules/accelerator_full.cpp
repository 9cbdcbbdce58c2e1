// The accelerator works nearly all the time: input, copies and launches are not the limit.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

// Dense arithmetic by tensor cores, in 1e12 operations per second: NVIDIA's data sheets (without structured sparsity).
struct PeakRate {
  std::string_view name;  // a word of the device's name, or several
  double of_16_bits = 0;
  double of_float32 = 0;  // as TF32, if the device has it
};
constexpr PeakRate kPeaks[] = {
    {"V100", 125, 15.7},    {"T4", 65, 8.1},    {"A10", 125, 62.5}, {"A30", 165, 82},     {"A40", 149.7, 74.8},
    {"A100", 312, 156},     {"L4", 121, 60},    {"L40", 181, 90.5}, {"L40S", 362, 183},   {"H100 PCIe", 756, 378},
    {"H100 NVL", 835, 417}, {"H100", 989, 495}, {"H200", 989, 495}, {"B200", 2250, 1125},
};

// "NVIDIA A100-SXM4-80GB" has the word A100, not A10.
bool has_word(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  if (at == std::string_view::npos) return false;
  const std::size_t end = at + word.size();
  return (at == 0 || std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0) &&
         (end == name.size() || std::isalnum(static_cast<unsigned char>(name[end])) == 0);
}

const PeakRate* peak_of(std::string_view device) {
  const auto* const found =
      std::ranges::find_if(kPeaks, [&](const PeakRate& peak) { return has_word(device, peak.name); });
  return found == std::end(kPeaks) ? nullptr : found;
}

// The share of the peak arithmetic of the devices that work; 0: the device or the shapes of operators are unknown.
double share_of_peak(const TraceUse& trace) {
  const auto works = [](const DeviceUse& device) { return device.busy_s > 0; };
  const auto device = std::ranges::find_if(trace.devices, works);
  if (trace.arithmetic.operators == 0 || device == trace.devices.end()) return 0;
  const PeakRate* const peak = peak_of(device->name);
  if (peak == nullptr) return 0;
  const double seconds = trace.analysed_s * static_cast<double>(std::ranges::count_if(trace.devices, works));
  return (1e-12 * trace.arithmetic.operations_16 / peak->of_16_bits +
          1e-12 * trace.arithmetic.operations_32 / peak->of_float32) /
         seconds;
}

// "; matrix products and convolutions: 123 TFLOP/s, 39 % of the peak of this device". Precondition: one works.
std::string arithmetic_of(const TraceUse& trace) {
  const ArithmeticUse& work = trace.arithmetic;
  if (work.operators == 0)
    return trace.format == "Kineto" ? "; with record_shapes=True, the trace shows the share of the peak arithmetic"
                                    : "";
  const auto works = [](const DeviceUse& device) { return device.busy_s > 0; };
  const auto count = std::ranges::count_if(trace.devices, works);
  const double seconds = trace.analysed_s * static_cast<double>(count);
  std::string text = fmt::format("; matrix products and convolutions: {:.3g} TFLOP/s",
                                 1e-12 * (work.operations_16 + work.operations_32) / seconds);
  if (const double share = share_of_peak(trace); share > 0)
    text += fmt::format(", {:.0f} % of the peak of {}", 100 * share, count > 1 ? "these devices" : "this device");
  return text;
}

std::optional<RunFinding> find_accelerator_full(const TraceUse& trace) {
  double busy = 1;
  bool used = false;
  for (const DeviceUse& device : trace.devices) {
    if (device.busy_s <= 0) continue;
    busy = std::min(busy, share_of(trace, device.busy_s) - share_of(trace, StepActivity::kCommunication));
    used = true;
  }
  if (!used || busy < 0.9) return std::nullopt;
  RunFinding finding;
  finding.title =
      fmt::format("the accelerator is busy for {:.0f} % of the time; a faster loader would not help", 100 * busy);
  finding.evidence = "time by kernel name:";
  for (std::size_t i = 0; i < std::min<std::size_t>(trace.kernels.size(), 3); ++i) {
    finding.evidence += fmt::format("{} {} {:.0f} %", i > 0 ? "," : "", trace.kernels[i].name.substr(0, 60),
                                    100 * share_of(trace, trace.kernels[i].seconds));
  }
  finding.evidence += arithmetic_of(trace);
  finding.change = fmt::format(
      "stop here: a better loader, copies and launches together gain less than {:.0f} %; only faster kernels (lower "
      "precision, compilation, another network), a faster accelerator or more of them make the program faster",
      std::max(std::ceil(100 * (1 / busy - 1)), 1.0));
  if (const double share = share_of_peak(trace); share > 0) finding.gain.gain = std::max(1 / share, 1.0);  // of kernels
  return finding;
}

}  // namespace

const Rule kAcceleratorFull{"accelerator-full",
                            "every used accelerator runs kernels for 90 % of the time; PyTorch traces with "
                            "`record_shapes=True` also show the share of the peak arithmetic",
                            of_trace<find_accelerator_full>};

}  // namespace unstarve
