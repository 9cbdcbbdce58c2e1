#pragma once
// Flips and crops as rows and columns: pixel (x, y) of the output is pixel (columns[x], rows[y]) of the image. A device
// that keeps the images gathers the output of many samples by one kernel (torch/kept_images.h).
//
// The numbers are drawn by the operations themselves (make_operation()), so the pixels are those of applying them.
//
// Threads: one at a time. Failure: Error(kArgument), as make_operation().

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/op_value.h"

namespace unstarve {

class Operation;

class GatherChain {
 public:
  // Why operations from `first` on are no such chain: "operations[1] brightness: ..."; empty: they are. Accepted are
  // horizontal_flip, alternating_flip and one pad_crop, without schedules.
  [[nodiscard]] static std::string why_not(std::span<const OpSpec> operations, std::size_t first);

  // The operations from `first` on, of images of `image`, with the random numbers of `seed`. Precondition: why_not() is
  // empty.
  GatherChain(std::span<const OpSpec> operations, std::size_t first, Size image, std::uint64_t seed);
  ~GatherChain();

  [[nodiscard]] Size output_size() const { return output_; }
  // The colour of row image.height and column image.width, which are used beyond a border of one colour.
  [[nodiscard]] const Rgb& border_colour() const { return colour_; }

  // Writes the rows and columns of a sample; both have the length of output_size(). `draw` and `id`: of its Sample.
  void map(std::uint32_t draw, std::uint64_t id, std::span<std::int32_t> rows, std::span<std::int32_t> columns);

 private:
  class BorderRecorder;

  std::size_t first_;
  Size image_, output_;
  std::uint64_t seed_;
  Rgb colour_{};
  std::vector<std::unique_ptr<Operation>> operations_;
  std::unique_ptr<BorderRecorder> recorder_;
  Scratch scratch_;
};

// The number of the first operation whose output depends on random numbers or on the epoch; operations.size(): none.
[[nodiscard]] std::size_t first_random_operation(std::span<const OpSpec> operations);

}  // namespace unstarve
