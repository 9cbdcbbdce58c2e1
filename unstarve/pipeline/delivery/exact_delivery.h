#pragma once
// Delivery in exact order: which batch and index a sample has depends only on (seed, epoch, sample).
//
// Workers claim short runs of samples of the oldest batch with unclaimed ones, so that several workers fill one batch.

#include "unstarve/pipeline/delivery/delivery.h"

namespace unstarve {

class ExactDelivery final : public Delivery {
 public:
  ExactDelivery(const RunOrder& order, const SlotLayout& layout, const SlotLimits& limits, Device& device)
      : Delivery(order, layout, limits, device) {}

  [[nodiscard]] std::optional<Claim> claim(std::size_t most) override;
  void place(Claim&) override {}  // claim() has done it
  bool begin_read_ahead(ReadAhead& reading) override;
  bool end_read_ahead(ReadAhead& reading) override;

 private:
  void describe_progress(RankProgress& progress) const override;
  // The number in the run of the first unclaimed sample; none if all are claimed.
  [[nodiscard]] std::optional<std::uint64_t> first_unclaimed() const;

  Slot* filling_ = nullptr;     // the latest open batch while it has unclaimed samples
  std::size_t next_index_ = 0;  // its first unclaimed sample
  bool read_ahead_ = false;     // of claims from now on
};

}  // namespace unstarve
