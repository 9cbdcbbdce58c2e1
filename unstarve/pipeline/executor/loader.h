#pragma once
// Loads batches: threads read, decode and transform samples into batch slots, and one consumer takes the batches.
//
//   spec + dataset ── plan_run() ──▶ Plan ──▶ Executor (threads) ── Delivery (slots) ──▶ next(): Batch
//
// A worker takes a sample from reading to storing and writes into its part of a slot, which is allocated once. A full
// slot is handed to the consumer and returns when the Batch is destroyed. Batches do not depend on threads: order and
// randomness are functions of (seed, epoch, sample).
//
// Relaxed order (execution.order): a batch consists of the samples that are ready first. A slow sample delays no batch
// but the last of its epoch, unless it is late by a whole window (kLeastWindow samples, or the open batches). An
// epoch has the samples and pixels of the exact order, in other batches. With prefetch 0 only one batch is open, so
// each batch has the samples of the exact order.
//
// Settings that the spec leaves open (threads, prefetch, read-ahead) are tuned during the run (run_tuner.h).
//
// Ownership: owns its threads, shares the slots with its batches. The device must outlive both.
// Threads:   next(), wait() and progress() by one consumer thread at a time, all others by any thread.
// Failure:   next() returns the good batches first, then throws the error of a worker, which names the sample.
// Skipping:  with errors.policy skip, batches without a good sample are left out (error_policy.h).
// Closing:   close() wakes a waiting next(). The destructor stops at any time, joins all threads and frees all memory.
// Waiting:   under a memory limit, a consumer that holds all batches that fit waits until it releases one. Once per
//            loader, after kHeldPatienceNs, Options::on_notice reports it.
// Fork:      threads do not exist in a child process. There all calls throw Error(kArgument), except close() and the
//            destructors, which do nothing.
// Cost:      no allocation per sample once the largest record was seen; a short critical section per claim of samples.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/pipeline/executor/bad_sample.h"
#include "unstarve/pipeline/executor/batch.h"
#include "unstarve/pipeline/order/position.h"
#include "unstarve/pipeline/plan/consumer.h"

namespace unstarve {

class Clock;
class Dataset;
class DecodeBalance;
class Device;
class Order;
struct ExecutionPlan;
struct MemoryShare;
struct PipelineSpec;
struct Plan;
struct Profile;
struct RankProgress;
struct Resources;
Clock& steady_clock();

// A consumer that waits for a batch while it holds all of them is notified after this time.
inline constexpr std::int64_t kHeldPatienceNs = 3'000'000'000;

class Loader {
 public:
  struct Options {
    EpochPosition start{};
    std::uint32_t epochs = 0;  // including start.epoch; 0: endless
    // Whether a consumer may hold more than two batches, for which memory is added. Otherwise next() throws.
    bool grow = false;
    OrderBasis basis{};
    Consumer consumer = Consumer::kHost;  // determines the format of the batches, plan().store()
    // Reports problems that do not cause a failure, in the consumer's thread, from next() or wait(). It may release
    // batches and must not throw. Empty: emit_notice() (storage/dataset/notice.h).
    std::function<void(const std::string& text)> on_notice{};
    OnDevice on_device{};  // what the consumer holds on a device for batches, counted in a memory limit
    // Whether the last batch of an epoch is delivered even if all its samples were skipped; it then has no samples.
    bool epoch_ends = false;
    // Whether ranks may have different numbers of batches, or none, as in evaluations: each leaves out its batches
    // without a good sample.
    bool uneven = false;
    // Chooses samples for the consumer's device to decode, which are delivered as files. Null: none.
    std::shared_ptr<DecodeBalance> decode{};
    // Whether to check_data() (order/check_data.h). Otherwise data without labels are accepted, and all labels are
    // kNoLabel.
    bool check_data = true;
  };

  // `device` allocates the slots; it and `clock` must outlive the loader. Throws Error(kArgument) if the spec does not
  // fit the data (plan_run.h).
  Loader(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, Device& device, Options options,
         Clock& clock = steady_clock());
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch; nothing after the last one and after close().
  [[nodiscard]] std::optional<Batch> next();
  // Announces a pause until the next call: autotuning does not take it for a training step. Long pauses are recognised
  // without.
  void pause();
  // Waits up to `timeout` until next() would not block, and returns whether it would not.
  [[nodiscard]] bool wait(std::chrono::milliseconds timeout);
  // After the last batch of next(). position_after() (progress.h) converts it to a start.
  [[nodiscard]] RankProgress progress() const;
  void close();

  [[nodiscard]] bool forked() const;  // whether this process is a fork of the loader's
  [[nodiscard]] std::uint64_t batches_per_epoch() const;
  [[nodiscard]] std::size_t memory_bytes() const;         // slots and records read ahead
  [[nodiscard]] std::vector<MemoryShare> memory() const;  // of every part of the pipeline (memory_plan.h)
  [[nodiscard]] int threads() const;                      // workers at present
  [[nodiscard]] const Plan& plan() const;
  [[nodiscard]] const ExecutionPlan& execution() const;  // as planned; profile() has the present settings
  [[nodiscard]] const Resources& resources() const;
  [[nodiscard]] const Order& order() const;  // of a whole epoch
  // Counts since the construction; the latest settings and decisions. Stage "wait" is the consumer's time in next(),
  // the read-ahead stage the time of records in flight.
  [[nodiscard]] Profile profile() const;
  // The plan and the decisions so far, one line each.
  [[nodiscard]] std::string explain() const;
  // The first `most` bad samples by id, each once. Under the fail policy the exception reports them instead.
  [[nodiscard]] std::vector<BadSample> bad_samples(std::size_t most = 1000) const;
  [[nodiscard]] std::uint64_t bad_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
