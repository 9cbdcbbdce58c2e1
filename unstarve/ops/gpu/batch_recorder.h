#pragma once
// A chain of operations, recorded for the samples of a batch (recorder.h), with the numbers that a loader draws for the
// same samples on the host.
//
// Ownership: borrows the operations. Threads: one at a time per recorder; several may share the operations.
// Failure:   the constructor throws Error(kArgument) for a chain that cannot run on a GPU, naming the operation and
//            why; add() throws Error(kInput) as the operation does on the host, or where another size than `output`
//            comes out. The batch is then without the sample.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/gpu/program_recorder.h"

namespace unstarve {

// Why an operation cannot be recorded; empty: it can. Operations that a program has added (add_operation()) cannot:
// nobody has written their kernels.
[[nodiscard]] std::string why_not_on_gpu(const OpSpec& operation);

class BatchRecorder {
 public:
  // Of the chain's operations those from `first` on; the ones before have been done to the images on the host.
  BatchRecorder(std::span<const OpSpec> specs, std::span<const std::unique_ptr<Operation>> operations, Size output,
                std::size_t first = 0);

  void clear() { recorder_.clear(); }
  // The sample `id` of draw `draw`, keyed as the loader keys it.
  void add(const SourceImage& image, std::uint64_t seed, std::uint32_t draw, std::uint64_t id) {
    add(image, seed, draw, id, first_);
  }
  // One to which fewer or more have been done: those from `first` on, no earlier than the recorder's own, are left.
  void add(const SourceImage& image, std::uint64_t seed, std::uint32_t draw, std::uint64_t id, std::size_t first);
  [[nodiscard]] const Recording& recording() const { return recorder_.recording(); }
  [[nodiscard]] Size output() const { return output_; }

 private:
  std::span<const std::unique_ptr<Operation>> operations_;
  Size output_;
  std::size_t first_;
  Recorder recorder_;
  Scratch scratch_;
};

}  // namespace unstarve
