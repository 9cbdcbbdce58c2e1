#pragma once
// One worker's way from a sample id to pixels in their place in the batch: read, decode, operations, store.
//
// Holds everything a thread needs for itself (codec state, scratch images, record buffer), so that a run of samples
// allocates nothing once the largest has been seen. The loader runs one per thread; benchmarks run one in a bare loop
// to see what the loader costs on top.
//
// Where a device takes part in decoding (decode_balance.h) a sample may stay a file: nothing is decoded, and store()
// writes its bytes where its pixels would lie.
//
// Threads: one thread per worker; the plan, the balance and the counts are shared. Failure: run() throws Error with the
// sample's location.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/cache_fetch.h"
#include "unstarve/core/clock.h"
#include "unstarve/pipeline/device/decode_balance.h"
#include "unstarve/pipeline/executor/decode_counts.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

enum class Stage { kRead, kDecode, kAugment, kStore };
inline constexpr std::size_t kStages = 4;
inline constexpr std::array<const char*, kStages> kStageNames{"read", "decode", "augment", "store"};

// What a run of samples cost: bytes out of each stage for all of them, nanoseconds for the timed ones, and what of
// those was spent on a processor for some of them.
struct StageTotals {
  std::array<std::int64_t, kStages> bytes{};
  std::array<std::int64_t, kStages> ns{};
  std::array<double, kStages> squares_us2{};
  std::array<std::int64_t, kStages> both_ns{};  // of the samples whose processor time was taken, too
  std::array<std::int64_t, kStages> cpu_ns{};
  std::int64_t timed_samples = 0;
  bool take_cpu = false;  // of the next samples that are timed
};

class SampleWorker {
 public:
  // All must outlive the worker. Without `balance` the host decodes all; without `decoded` nobody counts what it does.
  explicit SampleWorker(const Plan& plan, DecodeBalance* balance = nullptr, DecodeCounts* decoded = nullptr);

  // The samples that come now are of this epoch: operations may follow a schedule. Epoch 0 to begin with.
  void enter(std::uint32_t epoch) {
    operations_ = &plan_.operations_at(epoch);
    size_ = plan_.size_at(epoch);
  }
  // make() and store() in one.
  std::int64_t run(std::uint64_t id, std::uint32_t draw, std::uint8_t* pixels, StageTotals& totals, bool timed,
                   bool is_read = false) {
    const std::int64_t label = make(id, draw, totals, timed, is_read);
    store(pixels, totals, timed);
    return label;
  }
  // Everything but storing; `draw` keys the randomness of the operations (draws.h); adds to `totals` and returns the
  // label. The clock is read only when the sample is to be `timed`. `is_read`: record() holds the sample already.
  std::int64_t make(std::uint64_t id, std::uint32_t draw, StageTotals& totals, bool timed, bool is_read = false);
  // Writes the sample that make() made last to `pixels` (plan's format); its size, the plan's but where batches are
  // padded.
  Size store(std::uint8_t* pixels, StageTotals& totals, bool timed);
  // Of the sample that make() made last: whether it stayed a file.
  [[nodiscard]] const FileExtent& file() const { return file_; }
  [[nodiscard]] RecordBuffer& record() { return record_; }
  // A hint that the sample after the next run() is `id`: its record is fetched to the cache during that run.
  void will_run(std::uint64_t id) { ahead_ = CacheFetch(plan_.dataset->prefetch(id)); }

  // Of the largest sample there may be in the epoch.
  [[nodiscard]] std::size_t sample_bytes() const { return storer_.sample_bytes(size_); }
  // Of the sample that make() made last; another than the plan's only where that allows any size.
  [[nodiscard]] Size made_size() const { return made_.size(); }
  [[nodiscard]] std::size_t made_bytes() const { return storer_.sample_bytes(made_.size()); }

 private:
  class StageClock;
  // The frame after decoding, and the number of operations already done on the way.
  std::size_t decode(const Value& value, std::uint64_t id, std::uint32_t draw, Frame& frame, StageClock& clock);
  // The image last opened: to `rows` where there are and they can be (true), else to decoded_. `by_index`: by its index
  // where there is one, else one is made on the way.
  bool decode(std::uint64_t id, const ImageHeader& header, DecodeRequest& request, bool by_index, RowSink* rows);
  void count_decoded(const ImageHeader& header, int reduction);
  // Whether the open image, of which the host would decode `pixels`, is to stay a file.
  bool leave_to_device(const ImageHeader& header, std::span<const std::uint8_t> bytes, std::int64_t pixels,
                       std::uint64_t id, std::uint32_t draw);
  // Pixels out of the cache, or into it, after the operations that come before it; the label.
  std::int64_t through_cache(std::uint64_t id, std::uint32_t draw, Frame& frame, StageClock& clock, bool is_read);
  // Waits for memory where an image needs more than the worker's share; gives it back, and the buffers with it.
  void borrow_for(Size image);
  void give_back();
  std::int64_t make_within_share(std::uint64_t id, std::uint32_t draw, StageTotals& totals, bool timed, bool is_read);
  [[nodiscard]] std::int64_t label_of(const RecordBuffer& record) const;
  std::size_t decode_located(const Value& value, std::uint64_t id, std::uint32_t draw, Frame& frame, StageClock& clock);
  void apply(std::size_t operation, std::uint64_t id, std::uint32_t draw, Frame& frame);
  void finish_operation(Frame& frame);
  void store(const Frame& frame, std::uint8_t* pixels);

  const Plan& plan_;
  DecodeBalance* const balance_;
  DecodeCounts* const counts_;
  const std::vector<std::unique_ptr<Operation>>* operations_ = nullptr;  // of the epoch
  Size size_;
  Storer storer_;
  Decoder decoder_;
  RecordBuffer record_;
  CacheFetch ahead_;
  Image decoded_;
  Image to_cache_;
  std::vector<std::uint8_t> index_;  // of the JPEG that is being decoded
  AlignedBytes stored_;              // a sample on its way to the batch, where it is not written there at once
  std::uint64_t borrowed_ = 0;
  FileExtent file_{};
  std::span<const std::uint8_t> file_bytes_;  // of the record
  std::int64_t host_pixels_ = 0;              // that the host decodes of the image
  Frame made_;                                // borrows from the scratch, the record or a cache
  Scratch scratch_;
};

}  // namespace unstarve
