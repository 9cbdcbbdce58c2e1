#include "unstarve/ops/resize/axis_filter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "unstarve/ops/resize/triangle_weights.h"

namespace unstarve {
namespace {

// 8-bit values times weights that add up to 2^22 stay below 2^31. Pillow uses the same precision.
constexpr int kMaxFractionBits = 22;

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

// Keys, "Cubic convolution interpolation for digital image processing", 1981.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double sinc(double x) {
  x *= std::numbers::pi;
  return x == 0 ? 1 : std::sin(x) / x;
}

// A filter as a function of the distance in stretched input samples.
struct Shape {
  double support;  // the weight is 0 beyond
  double (*weight)(double x);
};

Shape shape_of(Resampling::Kind kind) {
  switch (kind) {
    case Resampling::Kind::kBicubic: return {2, [](double x) { return cubic(x, -0.5); }};
    case Resampling::Kind::kBox: return {0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }};
    case Resampling::Kind::kLanczos: return {3, [](double x) { return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; }};
    default: return {1, triangle};
  }
}

// The first input sample of an output sample and the number of weights.
struct Span {
  int begin, count;
};

// A filter stretched by `stretch` at `centre`, cut at the edges, not yet normalised.
Span stretched(Shape shape, double stretch, double centre, int input, double* weights) {
  const double support = shape.support * stretch, inverse = 1.0 / stretch;
  const int begin = std::max(0, static_cast<int>(centre - support + 0.5));
  const int end = std::min(input, static_cast<int>(centre + support + 0.5));
  int count = 0;
  for (int x = begin; x < end; ++x) {
    weights[x - begin] = shape.weight((x - centre + 0.5) * inverse);
    if (weights[x - begin] != 0) count = x - begin + 1;
  }
  return {begin, count};
}

// The part of each input sample that is between two positions.
Span covered(double from, double to, int input, double* weights) {
  const int begin = std::clamp(static_cast<int>(from), 0, input - 1);
  int count = 0;
  for (int x = begin; x < input && x < to; ++x) {
    weights[x - begin] = std::min(x + 1.0, to) - std::max<double>(x, from);
    // Smaller parts are rounding errors of a position between two samples.
    if (weights[x - begin] > 1e-9) count = x - begin + 1;
  }
  return {begin, count};
}

// Four samples around the centre, the outermost ones repeated beyond the edges.
Span repeated_cubic(double centre, int input, double* weights) {
  const int first = static_cast<int>(std::floor(centre - 0.5)) - 1;
  const auto within = [&](int x) { return std::clamp(x, 0, input - 1); };
  const int begin = within(first);
  for (int x = first; x < first + 4; ++x) weights[within(x) - begin] += cubic(x + 0.5 - centre, -0.75);
  return {begin, within(first + 3) - begin + 1};
}

}  // namespace

int AxisFilter::max_taps(int input, int output, Resampling resampling) {
  const double stretch = resampling.antialias ? std::max(1.0, static_cast<double>(input) / output) : 1.0;
  // A window of width 2 * support holds at most ceil(2 * support) samples of nonzero weight. Rounding its two ends can
  // add one, and one more makes the number even.
  return static_cast<int>(std::ceil(std::max(shape_of(resampling.kind).support, 1.0) * stretch)) * 2 + 2;
}

void AxisFilter::build(int input, int output, Resampling resampling, Part part) {
  if (input == whole_input_ && output == whole_output_ && resampling == resampling_ && part == part_) return;
  whole_input_ = input;
  whole_output_ = output;
  resampling_ = resampling;
  part_ = part;
  first_.resize(static_cast<std::size_t>(output));
  if (resampling.kind == Resampling::Kind::kBilinear && input != output) {
    build_triangle();
  } else {
    build_any();
  }
  if (part.reversed) reverse();
}

double AxisFilter::scale() const { return static_cast<double>(whole_input_) / whole_output_; }
double AxisFilter::stretch() const { return resampling_.antialias ? std::max(1.0, scale()) : 1.0; }

void AxisFilter::choose_precision(double largest) {
  fraction_bits_ = kMaxFractionBits;
  while (std::lround(std::ldexp(largest, fraction_bits_)) > 32767) --fraction_bits_;
}

// The input that the requested outputs read; the whole input if all outputs are requested, even what a nearest or an
// area filter skips.
void AxisFilter::choose_input(int begin, int end, int longest) {
  const bool whole = part_.from == 0 && part_.to == whole_output_;
  begin_ = whole ? 0 : begin;
  end_ = whole ? whole_input_ : end;
  picks_ = longest == 1;
  taps_ = (longest + 1) / 2 * 2;
  weights_.assign(static_cast<std::size_t>(output()) * static_cast<std::size_t>(taps_), 0);
}

void AxisFilter::reverse() {
  std::reverse(first_.begin(), first_.begin() + output());
  std::reverse(weights_.begin(), weights_.end());  // the output samples, and the taps of each
  for (int i = 0; i < output(); ++i) {
    int& first = first_[static_cast<std::size_t>(i)];
    first = input() - first - taps_;
    // Taps of weight 0 beyond the far end of the input, and the unused tap of a picked sample, move after the others.
    const int unused = picks_ ? 1 : std::max(0, -first);
    if (unused == 0) continue;
    std::int16_t* const w = weights_.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(taps_);
    std::fill(std::copy(w + unused, w + taps_, w), w + taps_, std::int16_t{0});
    first += unused;
  }
}

void AxisFilter::build_triangle() {
  const auto outputs = static_cast<std::size_t>(whole_output_), pitch = outputs + kTriangleSlack;
  const auto stride = static_cast<std::size_t>(max_taps(whole_input_, whole_output_, resampling_)) - 1;
  exact_.resize((TriangleTables::kOtherTables + stride) * pitch);
  const TriangleTables t = TriangleTables::in(exact_.data(), pitch, stride);
  choose_precision(make_triangle_weights(t, whole_input_, outputs, scale(), stretch()));
  int longest = 1, end = 0;
  const auto from = static_cast<std::size_t>(part_.from), to = static_cast<std::size_t>(part_.to);
  for (std::size_t i = from; i < to; ++i) {
    const auto count = static_cast<int>(t.counts[i]);
    longest = std::max(longest, count);
    end = std::max(end, static_cast<int>(t.begins[i]) + count);
  }
  choose_input(static_cast<int>(t.begins[from]), end, longest);
  for (std::size_t i = from; i < to; ++i) first_[i - from] = static_cast<int>(t.begins[i]) - begin_;
  round_triangle_weights(t, from, to,
                         {static_cast<std::size_t>(longest), std::ldexp(1.0, fraction_bits_), weights_.data(),
                          static_cast<std::size_t>(taps_)});
}

void AxisFilter::build_any() {
  const int input = whole_input_;
  const Shape shape = shape_of(resampling_.kind);
  const auto stride = static_cast<std::size_t>(max_taps(input, whole_output_, resampling_)) - 1;
  const auto outputs = static_cast<std::size_t>(whole_output_);
  const auto from = static_cast<std::size_t>(part_.from), to = static_cast<std::size_t>(part_.to);
  exact_.assign(outputs * stride, 0.0);

  // The largest weight of the whole axis determines the precision of all.
  double largest = 0;
  int longest = 1, begin = input, end = 0;
  // Summed as in Pillow, which matters for centres between two samples.
  double added_centre = 0.5 * scale();
  for (std::size_t i = 0; i < outputs; ++i, added_centre += scale()) {
    const double centre = (static_cast<double>(i) + 0.5) * scale();
    double* w = exact_.data() + i * stride;
    Span span{};
    if (identity()) {
      // What the filters below give when rounded, without neighbours of weight 0.
      span = {static_cast<int>(i), 1};
      w[0] = 1;
    } else if (resampling_.kind == Resampling::Kind::kNearest) {
      span = {std::min(static_cast<int>(added_centre), input - 1), 1};
      w[0] = 1;
    } else if (resampling_.kind == Resampling::Kind::kArea) {
      span = covered(static_cast<double>(i) * scale(), static_cast<double>(i + 1) * scale(), input, w);
    } else if (resampling_.kind == Resampling::Kind::kBicubic && !resampling_.antialias) {
      span = repeated_cubic(centre, input, w);
    } else {
      span = stretched(shape, stretch(), centre, input, w);
    }
    double sum = 0;
    for (int k = 0; k < span.count; ++k) sum += w[k];
    const double inverse_sum = 1.0 / sum;
    for (int k = 0; k < span.count; ++k) {
      w[k] *= inverse_sum;
      largest = std::max(largest, w[k]);
    }
    std::fill(w + span.count, w + stride, 0.0);
    first_[i] = span.begin;
    if (i < from || i >= to) continue;
    longest = std::max(longest, span.count);
    begin = std::min(begin, span.begin);
    end = std::max(end, span.begin + span.count);
  }
  choose_precision(largest);
  choose_input(begin, end, longest);
  const double one = std::ldexp(1.0, fraction_bits_);
  const auto taps = static_cast<std::size_t>(taps_);
  for (std::size_t i = from; i < to; ++i) {
    const double* w = exact_.data() + i * stride;
    std::int16_t* const rounded = weights_.data() + (i - from) * taps;
    first_[i - from] = first_[i] - begin_;
    for (int k = 0; k < longest; ++k) rounded[k] = static_cast<std::int16_t>(w[k] * one + (w[k] < 0 ? -0.5 : 0.5));
  }
}

}  // namespace unstarve
