#pragma once
// Divides samples into batches of all ranks, and gives one rank its part.
//
//   samples   | global batch 0 ......... | global batch 1 ......... | last, perhaps shorter |
//             | rank 0 | rank 1 | rank 2 | rank 0 | rank 1 | rank 2 | 0 | 1 | 2 |
//
// All ranks have equally many batches of equal sizes. A last batch that is kept and not divisible by the number of
// ranks has positions beyond the last sample: fillers.
//
// Threads: pure after set_samples(). Failure: Error(kArgument) for an invalid batch size, world or rank.

#include <cstdint>

namespace unstarve {

struct BatchSpec;
struct OrderSpec;

class RankBatches {
 public:
  RankBatches(const OrderSpec& order, const BatchSpec& batch);

  // The number of samples to divide, of all ranks.
  void set_samples(std::uint64_t samples);

  [[nodiscard]] std::uint64_t world() const { return world_; }
  [[nodiscard]] std::uint64_t batch_size() const { return batch_size_; }
  [[nodiscard]] std::uint64_t global_size() const { return batch_size_ * world_; }
  [[nodiscard]] std::uint64_t count() const { return batches_; }
  // Samples of this rank in batch `batch`: the batch size, or fewer in a kept last batch.
  [[nodiscard]] std::uint64_t samples_of(std::uint64_t batch) const {
    return batch + 1 == batches_ ? last_samples_ : batch_size_;
  }
  // Samples of this rank, in all batches and before batch `batch`.
  [[nodiscard]] std::uint64_t samples() const {
    return batches_ == 0 ? 0 : samples_before(batches_ - 1) + last_samples_;
  }
  [[nodiscard]] std::uint64_t samples_before(std::uint64_t batch) const { return batch * batch_size_; }
  // The position of this rank's first sample of batch `batch` among those of all ranks.
  [[nodiscard]] std::uint64_t position_of(std::uint64_t batch) const {
    return batch * batch_size_ * world_ + rank_ * samples_of(batch);
  }

 private:
  std::uint64_t rank_ = 0, world_ = 1;
  std::uint64_t batch_size_;
  bool drop_last_;
  std::uint64_t batches_ = 0;
  std::uint64_t last_samples_ = 0;  // per rank, in the last batch
};

}  // namespace unstarve
