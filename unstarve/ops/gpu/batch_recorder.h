#pragma once
// Records a chain of operations for the samples of a batch (program_recorder.h). The random numbers equal those of a
// loader on the host for the same samples.
//
// Ownership: borrows the operations. Threads: one at a time per recorder; several may share the operations.
// Failure:   the constructor throws Error(kArgument) naming the operation that cannot run on a GPU. add() throws
//            Error(kInput) as the operation does on the host, or if the size differs from `output`; the batch is then
//            without the sample.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/gpu/program_recorder.h"

namespace unstarve {

class BatchRecorder {
 public:
  // Records the operations from `first` on; the host has applied the ones before.
  BatchRecorder(std::span<const OpSpec> specs, std::span<const std::unique_ptr<Operation>> operations, Size output,
                std::size_t first = 0);

  void clear() { recorder_.clear(); }
  // Sample `id` of draw `draw`, keyed as the loader keys it.
  void add(const SourceImage& image, std::uint64_t seed, std::uint32_t draw, std::uint64_t id) {
    add(image, seed, draw, id, first_);
  }
  // The same for a sample that still needs the operations from `first` on, which is not below the recorder's own.
  void add(const SourceImage& image, std::uint64_t seed, std::uint32_t draw, std::uint64_t id, std::size_t first);
  [[nodiscard]] const Recording& recording() const { return recorder_.recording(); }
  [[nodiscard]] Size output() const { return output_; }

 private:
  std::span<const std::unique_ptr<Operation>> operations_;
  Size output_;
  std::size_t first_;
  ProgramRecorder recorder_;
  Scratch scratch_;
};

}  // namespace unstarve
