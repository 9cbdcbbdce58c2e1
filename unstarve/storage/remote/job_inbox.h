#pragma once
// Messages of other threads to an engine's thread: new jobs, cancellations and the request to stop.
//
// A sender wakes the engine's thread afterwards (TransferPool::wake()).
//
// Ownership: owns the jobs until take_into().
// Threads:   submit(), report_cancelled() and stop() by any thread, the others by the engine's thread.
// Failure:   after close(), submit() throws that failure.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/storage/remote/fetch.h"
#include "unstarve/storage/remote/fetch_batch.h"
#include "unstarve/storage/remote/transfer.h"

namespace unstarve::remote {

// A fetch with the state of its attempts, used by the engine's thread only.
struct FetchJob {
  Fetch& fetch;
  FetchBatch& batch;
  std::uint64_t done = 0;  // bytes of the fetch received by earlier attempts
  int attempts = 0;
  std::int64_t first_start_ns = 0, attempt_start_ns = 0;
  std::int64_t due_ns = 0;  // of the next attempt, while waiting
  bool hedged = false;      // this attempt has a hedge
  std::unique_ptr<Transfer> attempt{}, hedge{};
};
using FetchJobPtr = std::unique_ptr<FetchJob>;

class JobInbox {
 public:
  // Submits one job per fetch.
  void submit(std::span<Fetch> fetches, FetchBatch& batch);
  // Reports that a batch was cancelled.
  void report_cancelled() { any_cancelled_ = true; }
  void stop();

  [[nodiscard]] bool stopping() const;
  // Whether a batch was cancelled since the last call.
  [[nodiscard]] bool take_cancelled() { return any_cancelled_.exchange(false); }
  // Appends the submitted jobs to `queue`.
  void take_into(std::deque<FetchJobPtr>& queue);
  // Rejects all later jobs. Returns the submitted ones that were not taken.
  [[nodiscard]] std::vector<FetchJobPtr> close(const Failure& failure);

 private:
  std::atomic<bool> any_cancelled_{false};
  mutable std::mutex mutex_;
  std::vector<FetchJobPtr> submitted_;
  bool stopping_ = false;
  std::optional<Failure> closed_by_;
};

inline void JobInbox::submit(std::span<Fetch> fetches, FetchBatch& batch) {
  const std::lock_guard lock(mutex_);
  if (closed_by_) closed_by_->raise();
  for (Fetch& fetch : fetches) submitted_.push_back(std::make_unique<FetchJob>(FetchJob{fetch, batch}));
}

inline void JobInbox::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
}

inline bool JobInbox::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

inline void JobInbox::take_into(std::deque<FetchJobPtr>& queue) {
  const std::lock_guard lock(mutex_);
  for (FetchJobPtr& job : submitted_) queue.push_back(std::move(job));
  submitted_.clear();
}

inline std::vector<FetchJobPtr> JobInbox::close(const Failure& failure) {
  const std::lock_guard lock(mutex_);
  closed_by_ = failure;
  return std::exchange(submitted_, {});
}

}  // namespace unstarve::remote
