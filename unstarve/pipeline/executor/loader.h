#pragma once
// The executor: threads that fill batch slots in the order of the plan, and the consumer's end of it.
//
// Every worker takes one sample (or a short run of them) from read to store and writes into its place in a slot that
// was allocated once; a full slot is handed to the consumer in order, and comes back when the Batch is destroyed.
// Which thread handles a sample never shows in the batch: order and randomness are functions of (seed, epoch, sample).
//
// In relaxed order (execution.order) a batch takes the samples that are ready first: one that takes long is overtaken
// by those up to a window behind it (kLeastWindow samples, or as many as the slots hold), and keeps no batch but the
// last of its epoch waiting. The samples of an epoch, and each sample's pixels, are those of the exact order; which
// batch they are in is not. With prefetch 0 nothing is overtaken, there being nothing behind.
//
// Where the spec leaves threads open, their number, batches and records ahead follow what is measured while it runs
// (autotune/controller.h): no bit of a batch depends on them.
//
// Ownership: the Loader owns its threads and shares the slots with the Batches that borrow them; the device must
// outlive
//            both.
// Threads:   next() from one consumer thread at a time; close() from any.
// Failure:   next() first returns the good batches, then throws what a worker met (Error with path and reason).
// Skipping:  under errors.policy skip a batch without one good sample is left out, so that an epoch has up to
//            batches_per_epoch() of them. It is an Error(kInput) where other ranks have that batch, since all must have
//            equally many, and where the epoch has no other.
// Closing:   the destructor stops in mid-epoch, joins all threads, frees all memory. close() wakes a blocked next().
// Waiting:   a consumer that keeps all batches that a memory limit has room for, and asks for another, waits until it
//            lets one go. Once per loader, after kHeldPatienceNs of that, Options::tell is told so.
// Fork:      the threads do not come along into a child process. There every call throws Error(kArgument) but close()
//            and the destructors, which leave all as it is; the parent notices nothing.
// Cost:      no allocation per sample once the largest record was seen; one short critical section per run of samples.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/profile.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/device/decode_balance.h"
#include "unstarve/pipeline/executor/pad_batch.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/plan/consumer.h"
#include "unstarve/pipeline/plan/memory_plan.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class SlotRing;
struct Plan;
struct Resources;
struct Slot;

// One batch, borrowed from the ring. Move-only; returning the slot is its destructor's work.
class Batch {
 public:
  Batch() = default;
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;
  ~Batch();

  // samples() x 3 x height x width elements (or NHWC), contiguous, 64-byte aligned, of the spec's type.
  [[nodiscard]] const std::uint8_t* pixels() const { return pixels_; }
  [[nodiscard]] std::size_t pixel_bytes() const { return pixel_bytes_; }
  [[nodiscard]] std::span<const std::int64_t> labels() const { return labels_; }
  // samples() x classes() rows of probabilities where the spec has batch operations, else empty.
  [[nodiscard]] std::span<const float> targets() const { return targets_; }
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] std::span<const std::uint64_t> ids() const { return ids_; }  // the samples' ids in the data set
  [[nodiscard]] std::size_t samples() const { return labels_.size(); }
  // How many of the samples are this rank's own of the epoch, the first ones: those behind are copies of them that fill
  // up a batch (batch.last: pad), or samples that other ranks have too, so that all have equally many.
  [[nodiscard]] std::size_t valid() const { return valid_; }
  [[nodiscard]] Size size() const { return size_; }  // of every sample
  // Where samples were padded (batch.pad), how high and wide each was before, at its top left; else empty.
  [[nodiscard]] std::span<const PixelExtent> sizes() const { return sizes_; }
  // Where a device takes part in decoding (Options::decode), which samples' places hold a file instead of pixels; else
  // empty.
  [[nodiscard]] std::span<const FileExtent> files() const { return files_; }
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  [[nodiscard]] std::uint64_t index() const { return index_; }  // within its epoch
  [[nodiscard]] bool last_of_epoch() const { return last_; }
  [[nodiscard]] bool pinned() const { return pinned_; }

 private:
  friend class Loader;
  const std::uint8_t* pixels_ = nullptr;
  std::size_t pixel_bytes_ = 0;
  std::span<const std::int64_t> labels_;
  std::span<const std::uint64_t> ids_;
  std::span<const float> targets_;
  std::size_t classes_ = 0;
  std::span<const PixelExtent> sizes_;
  std::span<const FileExtent> files_;
  std::size_t valid_ = 0;
  Size size_;
  std::uint32_t epoch_ = 0;
  std::uint64_t index_ = 0;
  bool last_ = false;
  bool pinned_ = false;
  std::shared_ptr<SlotRing> ring_;  // where the slot goes back to
  Slot* slot_ = nullptr;
};

// A sample that could not be used.
struct BadSample {
  std::uint64_t id = 0;
  RecordLocation location;
  std::string reason;
};

// How long a consumer may wait for itself before it is told, by the loader's clock.
inline constexpr std::int64_t kHeldPatienceNs = 3'000'000'000;

class Loader {
 public:
  struct Options {
    Position start;
    std::uint32_t epochs = 0;  // how many from start.epoch on; 0: endless
    // Whether a consumer may keep more than two batches; memory grows with those it keeps. Else next() throws.
    bool grow = false;
    OrderBasis basis{};
    Consumer consumer = Consumer::kHost;  // plan().output then tells what the batches are
    // What goes wrong without failing anything; called by the consumer's thread in next() or wait(). Empty:
    // emit_notice() (notice.h). May let go of batches; must not throw.
    std::function<void(const std::string& text)> tell{};
    OnDevice on_device{};  // what the consumer keeps there of batches: counted by a memory limit, and told by memory()
    // Whether the end of an epoch whose last batch is left out (see Skipping) is given all the same: as a batch of no
    // samples, last_of_epoch().
    bool epoch_ends = false;
    // Which samples the consumer's device decodes: they come as files in their places. Null: none.
    std::shared_ptr<DecodeBalance> decode{};
  };

  // `device` gives the slots' memory; it, `dataset` and `clock` must outlive the loader. Throws Error(kArgument) when
  // the spec does not fit the data (see plan.h).
  Loader(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, Device& device, Options options,
         Clock& clock = steady_clock());
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch in order; nothing after the last one or after close().
  [[nodiscard]] std::optional<Batch> next();
  // Waits until next() would not, at most for `most`; whether it would not.
  [[nodiscard]] bool wait(std::chrono::milliseconds most);
  // After the last batch that next() gave: what position_after() (progress.h) makes a start of.
  [[nodiscard]] RankProgress progress() const;
  void close();

  [[nodiscard]] bool forked() const;  // whether this process is a fork of the one that has the threads
  [[nodiscard]] std::uint64_t batches_per_epoch() const;  // of a whole epoch
  [[nodiscard]] Size sample_size() const;
  [[nodiscard]] std::size_t memory_bytes() const;  // all slots and the records read ahead
  // Who holds how much, and may; every part of a pipeline's memory (memory_plan.h).
  [[nodiscard]] std::vector<MemoryShare> memory() const;
  [[nodiscard]] int threads() const;  // that work now
  [[nodiscard]] const Plan& plan() const;
  [[nodiscard]] const Resources& resources() const;  // caches and indexes that are open
  [[nodiscard]] const Order& order() const;          // of an epoch, from its beginning
  // Counted since construction; settings and decisions are the latest. Stage "wait" is the consumer's time in next(),
  // "ahead" that of records on their way. Bad samples by id, each once, the first
  // `most` of them; under the fail policy the exception tells.
  [[nodiscard]] Profile profile() const;
  // The plan, and what was decided since the start, a line each.
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::vector<BadSample> bad_samples(std::size_t most = 1000) const;
  [[nodiscard]] std::uint64_t bad_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
