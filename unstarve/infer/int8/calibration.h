#pragma once
// Calibration: what the activations of a model are for a set of images.
//
//   images ──▶ engine with observed_graph() ── a row of all observed activations per image ──▶ add()
//
// The graph that is observed has one output: the concatenation of all observed values, so that any engine can run it.
//
// Threads: one. Memory: about 17 KiB and the channels for each value, however many images are added.

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/infer/graph/graph.h"
#include "unstarve/infer/int8/activation_histogram.h"

namespace unstarve::infer {

struct Activation {
  ValueId value = 0;
  std::size_t begin = 0, size = 0;  // of a sample, within a row
  std::size_t channels = 1;         // the second dimension
  ActivationHistogram histogram{};
  std::vector<double> channel_sums{};
  std::vector<float> channel_peaks{};  // the largest magnitudes

  [[nodiscard]] double channel_mean(std::size_t channel, std::uint64_t images) const {
    return channel_sums[channel] / (static_cast<double>(images) * static_cast<double>(size / channels));
  }
};

class Calibration {
 public:
  // `values`: of `graph`, float32, with at least two dimensions, batch first. Not empty.
  Calibration(const Graph& graph, std::span<const ValueId> values);

  // For an engine; its input is that of `graph`, its output float32 [batch, size of a row].
  [[nodiscard]] const Graph& observed_graph() const { return observed_; }

  // Rows of some images. Throws Error(kInput) with the name of a value that is not a finite number.
  void add(std::span<const float> rows);
  [[nodiscard]] std::uint64_t images() const { return images_; }

  // Precondition: `value` is observed.
  [[nodiscard]] const Activation& of(ValueId value) const;

 private:
  Graph observed_;
  std::vector<Activation> activations_;
  std::vector<std::string> names_;  // of the values
  std::size_t row_size_ = 0;
  std::uint64_t images_ = 0;
};

}  // namespace unstarve::infer
