#pragma once
// Fetches many ranges concurrently: one thread owns all connections, which the requests of all callers share.
//
//   fetch() ─▶ inbox ─▶ queue ─▶ active: an attempt, perhaps a hedge ─▶ done, or ─▶ waiting for the next ─▶ queue
//
// At most `in_flight` attempts run, plus hedges (hedge_policy.h). The queue is served in order.
//
// Threads:   fetch() and statistics() may be called concurrently; fetch() blocks. The destructor must not run during a
//            fetch().
// Failure:   fetch() throws the first Error of its batch, when nothing writes into the caller's memory any more.
// Cost:      two thread switches and one wake-up per fetch(), for any number of ranges.

#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/remote/backoff.h"
#include "unstarve/storage/remote/fetch.h"
#include "unstarve/storage/remote/hedge_policy.h"
#include "unstarve/storage/remote/job_inbox.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/remote/transfer_pool.h"

namespace unstarve::remote {

class Engine {
 public:
  explicit Engine(RemoteOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Completes all fetches or throws the first Error; Error(kCancelled) if core/cancel.h requests it first.
  void fetch(std::span<Fetch> fetches);
  // The counters that the engine maintains.
  [[nodiscard]] RemoteStatistics statistics() const;

 private:
  void run();
  void step();
  void die(const Error& error) noexcept;
  void end_cancelled();
  void wake_waiting();
  void start_queued();
  void start_hedges();
  void take_completed(const TransferPool::Completed& one);
  [[nodiscard]] int poll_ms() const;

  void start_attempt(FetchJob& job);
  std::unique_ptr<Transfer> start_transfer(FetchJob& job, bool hedge);
  void finished(FetchJob& job, bool hedge, const Verdict& verdict);
  void retry_or_fail(FetchJob& job, const Verdict& verdict);
  void complete(FetchJob& job);
  void fail(FetchJob& job, const Error& error);
  void end_batch(FetchJobPtr job, const Error& error);
  void cancel_rest_of(FetchBatch& batch);
  void end_transfers(FetchJob& job);
  FetchJobPtr remove_active(FetchJob& job);
  [[nodiscard]] Error failure_of(const FetchJob& job, const Verdict& verdict) const;

  RemoteOptions options_;
  Clock& clock_;
  Backoff backoff_;
  HedgePolicy hedging_;
  TransferPool transfers_;
  JobInbox inbox_;
  // Used by the engine's thread only.
  std::deque<FetchJobPtr> queue_;
  std::vector<FetchJobPtr> active_, waiting_;
  std::atomic<std::uint64_t> retries_{0};
  std::thread thread_;
};

}  // namespace unstarve::remote
