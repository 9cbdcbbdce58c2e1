#pragma once
// Delivery in relaxed order: a batch consists of the samples that are ready first, so that a slow sample (a straggler)
// delays no batch except the last of its epoch.
//
// A worker claims one sample, makes it in its scratch memory, and place() assigns the next position of a batch of the
// sample's epoch. Samples that fill up the last batch of all ranks keep their index there. Claims are in order; they
// stay within a window after the first sample without a position, and within the open batches.

#include "unstarve/pipeline/delivery/delivery.h"
#include "unstarve/pipeline/delivery/reorder_window.h"

namespace unstarve {

class RelaxedDelivery final : public Delivery {
 public:
  // `window`: in samples of this rank. `layout` must be numbered.
  RelaxedDelivery(const RunOrder& order, const SlotLayout& layout, const SlotLimits& limits, std::uint64_t window,
                  Device& device);

  [[nodiscard]] std::optional<Claim> claim(std::size_t most) override;  // one sample
  void place(Claim& claim) override;
  // Samples then come from ReadAhead::take_any() and claim_of() instead of claim(). It does not end.
  bool begin_read_ahead(ReadAhead& reading) override;
  bool end_read_ahead(ReadAhead&) override { return false; }

 private:
  void advance() override;
  void note_taken(const Slot& slot) override;
  void describe_progress(RankProgress& progress) const override;
  [[nodiscard]] bool within_window(std::uint64_t number) const;

  // Numbers are those of the run.
  ReorderWindow placed_;
  ReorderWindow taken_;                 // by the consumer
  std::uint64_t open_samples_ = 0;      // of all batches ever opened
  std::uint64_t claimable_ = 0;         // samples before this number may be made
  std::uint64_t next_number_ = 0;       // to be claimed
  std::uint64_t first_incomplete_ = 0;  // sequence number of the oldest batch with free positions
  ReadAhead* reading_ = nullptr;
};

}  // namespace unstarve
