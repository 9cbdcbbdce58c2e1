#include "unstarve/pipeline/order/shares.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "unstarve/core/file.h"
#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {
namespace {

// The strips are kTotal / draws wide, the first kTotal % draws of them by one more.
std::uint64_t strip_begin(std::uint64_t strip, std::uint64_t draws) {
  return strip * (Shares::kTotal / draws) + std::min(strip, Shares::kTotal % draws);
}

// The first strip that begins at `point` or later.
std::uint64_t first_strip_from(std::uint64_t point, std::uint64_t draws) {
  const std::uint64_t width = Shares::kTotal / draws, wider = Shares::kTotal % draws, border = wider * (width + 1);
  if (point <= border) return (point + width) / (width + 1);
  return (point - wider + width - 1) / width;
}

template <class Number>
std::vector<double> npy_numbers(std::string_view bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(Number));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    numbers[i] = static_cast<double>(number);
  }
  return numbers;
}

// numpy.lib.format: magic, version, length of the header, the header as a Python dict, then the numbers.
std::vector<double> read_npy(std::string_view bytes, const std::string& path) {
  constexpr std::size_t kFixed = 10;  // of version 1
  const auto reject = [&](const char* found) {
    throw input_error(
        "read weights {}: found {}; expected .npy of version 1 with float32 or float64 in one dimension, as "
        "numpy.save() writes it",
        path, found);
  };
  if (bytes.size() < kFixed || bytes[6] != 1) reject("another version");
  const std::size_t header = static_cast<std::uint8_t>(bytes[8]) + 256U * static_cast<std::uint8_t>(bytes[9]);
  if (bytes.size() < kFixed + header) reject("a truncated header");
  const std::string_view text = bytes.substr(kFixed, header), data = bytes.substr(kFixed + header);
  const std::size_t shape = text.find("'shape': ("), end = text.find(')', shape);
  const std::string_view sides = shape == std::string_view::npos ? "" : text.substr(shape + 10, end - shape - 10);
  if (sides.empty() || sides.find(',') + 1 != sides.size()) reject("several dimensions");
  if (text.find("'<f8'") != std::string_view::npos) return npy_numbers<double>(data);
  if (text.find("'<f4'") != std::string_view::npos) return npy_numbers<float>(data);
  reject("another type of numbers");
  return {};
}

std::vector<double> read_lines(std::string_view text, const std::string& path) {
  std::vector<double> numbers;
  for (std::uint64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!word.empty() && (word.back() == ' ' || word.back() == '\r')) word.remove_suffix(1);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    if (word.empty()) continue;
    double number = 0;
    const auto [rest, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failed != std::errc() || rest != word.data() + word.size())
      throw input_error("read weights {} line {}: found '{}'; expected one number per line", path, line,
                        word.substr(0, 40));
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

Shares::Shares(std::span<const double> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i]))
      throw argument_error("weight {} is {}; expected a finite number of 0 or more", i, weights[i]);
    sum += weights[i];
  }
  if (!(sum > 0) || !std::isfinite(sum))
    throw argument_error("the sum of the weights is {}; expected a number above 0", sum);
  ends_.reserve(weights.size());
  double before = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    before += weights[i];
    ends_.push_back(std::min(kTotal, static_cast<std::uint64_t>(before / sum * static_cast<double>(kTotal))));
    if (weights[i] > 0) last = i;
  }
  std::fill(ends_.begin() + static_cast<std::ptrdiff_t>(last), ends_.end(), kTotal);  // despite rounding
}

Shares::Draw Shares::at(std::uint64_t strip, std::uint64_t draws, std::uint64_t offset) const {
  const std::uint64_t point = strip_begin(strip, draws) + offset;
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), point);
  const std::uint64_t begin = found == ends_.begin() ? 0 : *(found - 1);
  const std::uint64_t first = begin <= offset ? 0 : first_strip_from(begin - offset, draws);
  return {static_cast<std::uint64_t>(found - ends_.begin()), strip - first};
}

std::uint64_t Shares::most_occurrences(std::uint64_t draws) const {
  std::uint64_t widest = 0, begin = 0;
  for (const std::uint64_t end : ends_) {
    widest = std::max(widest, end - begin);
    begin = end;
  }
  return widest / (kTotal / draws) + 1;
}

std::uint64_t Shares::fingerprint() const {
  std::uint64_t print = mix_bits(ends_.size());
  for (const std::uint64_t end : ends_) print = tweak_of(print, end);
  return print;
}

std::vector<double> read_sample_weights(const std::string& path, std::uint64_t records) {
  const std::string bytes = read_text_file(path);
  std::vector<double> weights = bytes.starts_with("\x93NUMPY") ? read_npy(bytes, path) : read_lines(bytes, path);
  if (weights.size() != records)
    throw input_error("read weights {}: found {} weights; expected {}, one per record", path, weights.size(), records);
  return weights;
}

}  // namespace unstarve
