#include "unstarve/infer/graph/normalisation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve::infer {

std::string text_of(const Normalisation& normalisation) {
  return fmt::format("{} {}", fmt::join(normalisation.mean, " "), fmt::join(normalisation.std, " "));
}

Normalisation parse_normalisation(std::string_view text) {
  std::vector<float> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    float number = 0;
    const auto [stop, status] = std::from_chars(text.data() + begin, text.data() + end, number);
    const bool is_number = status == std::errc() && stop == text.data() + end;
    numbers.push_back(is_number ? number : std::numeric_limits<float>::quiet_NaN());
    begin = end + 1;
  }
  constexpr std::size_t kMeans = kChannels;
  const auto deviations = std::span(numbers).subspan(std::min(numbers.size(), kMeans));
  if (deviations.size() != kMeans || !std::ranges::all_of(numbers, [](float each) { return std::isfinite(each); }) ||
      !std::ranges::all_of(deviations, [](float each) { return each > 0; }))
    throw Error(ErrorKind::kInput, fmt::format("found \"{:.80}\" as {}; expected three means and three positive "
                                               "standard deviations",
                                               text, kNormalisationKey));
  Normalisation result;
  std::copy_n(numbers.begin(), kMeans, result.mean.begin());
  std::ranges::copy(deviations, result.std.begin());
  return result;
}

}  // namespace unstarve::infer
