#pragma once
// Fetches many ranges concurrently: one thread owns all connections, which the requests of all callers share.
//
//   fetch() ─▶ queue ─▶ active: an attempt, perhaps a hedge ─▶ done, or ─▶ waiting for the next attempt ─▶ queue
//
// At most `in_flight` attempts run, plus hedges: at most a tenth as many (and one). The queue is served in order.
//
// Threads:   fetch() and statistics() may be called concurrently; fetch() blocks. The destructor must not run during a
//            fetch().
// Failure:   fetch() throws the first Error of its batch, when nothing writes into the caller's memory any more.
// Cost:      two thread switches and one wake-up per fetch(), for any number of ranges.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/remote/backoff.h"
#include "unstarve/storage/remote/fetch.h"
#include "unstarve/storage/remote/latency.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve::remote {

class Transfer;
struct Verdict;

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
  // An Error for another thread. Copies of an Error share their text, and ThreadSanitizer does not see that libstdc++
  // counts the owners atomically.
  struct Failure {
    ErrorKind kind;
    std::string message;
  };
  struct Batch;
  struct Job;
  using JobPtr = std::unique_ptr<Job>;

  void run();
  void step();
  void die(const Error& error) noexcept;
  void take_submissions();
  void end_cancelled();
  void wake_waiting();
  void start_queued();
  void start_hedges();
  void collect_finished();
  [[nodiscard]] int poll_ms() const;

  void start_attempt(Job& job);
  std::unique_ptr<Transfer> start_transfer(Job& job, bool hedge);
  void finished(Job& job, bool hedge, const Verdict& verdict);
  void retry_or_fail(Job& job, const Verdict& verdict);
  void complete(Job& job);
  void fail(Job& job, const Error& error);
  void end_batch(JobPtr job, const Error& error);
  void cancel_rest_of(Batch& batch);
  void drop(std::unique_ptr<Transfer>& transfer);
  JobPtr remove_active(Job& job);
  static void settle(Batch& batch);
  [[nodiscard]] Error failure_of(const Job& job, const std::string& reason) const;

  RemoteOptions options_;
  Clock& clock_;
  Backoff backoff_;
  LatencyTracker latency_;
  void* multi_;  // CURLM

  // Used by the engine thread only.
  std::deque<JobPtr> queue_;
  std::vector<JobPtr> active_, waiting_;
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::size_t hedges_running_ = 0;

  std::atomic<bool> any_cancelled_{false};  // some batch is

  mutable std::mutex mutex_;
  std::vector<JobPtr> submitted_;
  bool stopping_ = false;
  std::optional<Failure> dead_;  // the failure that ended the thread

  std::atomic<std::uint64_t> requests_{0}, retries_{0}, hedges_{0}, hedges_won_{0}, connections_{0}, received_bytes_{0};
  std::thread thread_;
};

}  // namespace unstarve::remote
