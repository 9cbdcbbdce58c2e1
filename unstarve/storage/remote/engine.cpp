#include "unstarve/storage/remote/engine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <stop_token>

#include <curl/curl.h>

#include "unstarve/core/cancel.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/remote/transfer.h"

namespace unstarve::remote {
namespace {

using Outcome = Verdict::Outcome;
constexpr std::int64_t kNsPerMs = 1'000'000;

std::uint64_t seed_of_system() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

void start_libcurl() {
  // Once per process, without cleanup: other users of libcurl may need it.
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) {
    throw Error(ErrorKind::kInternal, std::string("libcurl does not start: ") + curl_easy_strerror(started));
  }
}

void check(CURLMcode code) {
  if (code != CURLM_OK) throw Error(ErrorKind::kInternal, std::string("libcurl: ") + curl_multi_strerror(code));
}

CURLM* make_multi(const RemoteOptions& options) {
  start_libcurl();
  CURLM* multi = curl_multi_init();
  if (multi == nullptr) throw Error(ErrorKind::kMemory, "libcurl: no multi handle");
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(options.in_flight + options.in_flight / 10 + 1));
  return multi;
}

}  // namespace

// Lives on the stack of the caller of fetch(), which waits until nothing is pending.
struct Engine::Batch {
  std::mutex mutex;
  std::condition_variable settled;
  std::size_t pending = 0;
  std::optional<Failure> failure;
  std::atomic<bool> cancelled{false};  // its caller requested cancelling
};

struct Engine::Job {
  Fetch& fetch;
  Batch& batch;
  std::uint64_t done = 0;  // bytes of the fetch received by earlier attempts
  int attempts = 0;
  std::int64_t first_start_ns = 0, attempt_start_ns = 0;
  std::int64_t due_ns = 0;  // of the next attempt, while waiting
  bool hedged = false;      // this attempt has a hedge
  std::unique_ptr<Transfer> attempt{}, hedge{};
};

Engine::Engine(RemoteOptions options)
    : options_(std::move(options)),
      clock_(steady_clock()),
      backoff_(options_.first_wait, options_.longest_wait,
               options_.jitter_seed ? *options_.jitter_seed : seed_of_system()),
      multi_(make_multi(options_)) {
  thread_ = std::thread([this] { run(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  curl_multi_wakeup(multi_);
  thread_.join();
  idle_.clear();
  curl_multi_cleanup(multi_);
}

void Engine::fetch(std::span<Fetch> fetches) {
  if (fetches.empty()) return;
  Batch batch;
  batch.pending = fetches.size();
  {
    const std::lock_guard lock(mutex_);
    if (dead_) throw Error(dead_->kind, dead_->message);
    for (Fetch& fetch : fetches) submitted_.push_back(std::make_unique<Job>(Job{fetch, batch}));
  }
  curl_multi_wakeup(multi_);
  const std::stop_callback cancel(cancel_token(), [&] {
    batch.cancelled = true;
    any_cancelled_ = true;
    curl_multi_wakeup(multi_);
  });
  std::unique_lock lock(batch.mutex);
  batch.settled.wait(lock, [&] { return batch.pending == 0; });
  if (batch.failure) throw Error(batch.failure->kind, batch.failure->message);
}

RemoteStatistics Engine::statistics() const {
  RemoteStatistics statistics;
  statistics.requests = requests_;
  statistics.retries = retries_;
  statistics.hedges = hedges_;
  statistics.hedges_won = hedges_won_;
  statistics.connections = connections_;
  statistics.received_bytes = received_bytes_;
  return statistics;
}

void Engine::run() {
  try {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
      }
      step();
    }
  } catch (const Error& error) {
    die(error);
  } catch (const std::exception& error) {
    die(Error(ErrorKind::kInternal, std::string("remote reading ended: ") + error.what()));
  }
}

void Engine::step() {
  // Checked before jobs are taken: a later request finds its jobs taken by the next step.
  const bool any_cancelled = any_cancelled_.exchange(false);
  take_submissions();
  if (any_cancelled) end_cancelled();
  wake_waiting();
  start_queued();
  start_hedges();
  int running = 0;
  check(curl_multi_perform(multi_, &running));
  collect_finished();
  check(curl_multi_poll(multi_, nullptr, 0, poll_ms(), nullptr));
}

// Out of memory, or libcurl failed: fails all current and future fetches.
void Engine::die(const Error& error) noexcept {
  const std::lock_guard lock(mutex_);
  dead_ = Failure{error.kind(), error.what()};
  const auto fail_jobs = [&](auto& jobs) {
    for (const JobPtr& job : jobs) {
      for (auto* transfer : {job->attempt.get(), job->hedge.get()}) {
        if (transfer != nullptr) curl_multi_remove_handle(multi_, transfer->easy());
      }
      {
        const std::lock_guard batch_lock(job->batch.mutex);
        job->batch.failure = dead_;
      }
      settle(job->batch);
    }
    jobs.clear();
  };
  fail_jobs(active_);
  fail_jobs(waiting_);
  fail_jobs(queue_);
  fail_jobs(submitted_);
}

void Engine::take_submissions() {
  const std::lock_guard lock(mutex_);
  for (JobPtr& job : submitted_) queue_.push_back(std::move(job));
  submitted_.clear();
}

void Engine::end_cancelled() {
  const auto end = [&](auto& jobs) {
    for (;;) {
      const auto found =
          std::find_if(jobs.begin(), jobs.end(), [](const JobPtr& job) { return job->batch.cancelled.load(); });
      if (found == jobs.end()) return;
      JobPtr owned = std::move(*found);
      jobs.erase(found);
      end_batch(std::move(owned), Error(ErrorKind::kCancelled, "stopped"));
    }
  };
  end(active_);
  end(waiting_);
  end(queue_);
}

void Engine::wake_waiting() {
  const std::int64_t now = clock_.now_ns();
  const auto due =
      std::stable_partition(waiting_.begin(), waiting_.end(), [&](const JobPtr& job) { return job->due_ns > now; });
  // At the front of the queue, as they have waited longest.
  queue_.insert(queue_.begin(), std::make_move_iterator(due), std::make_move_iterator(waiting_.end()));
  waiting_.erase(due, waiting_.end());
}

void Engine::start_queued() {
  while (!queue_.empty() && active_.size() < options_.in_flight) {
    active_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    start_attempt(*active_.back());
  }
}

void Engine::start_attempt(Job& job) {
  job.attempt_start_ns = clock_.now_ns();
  if (job.attempts == 0) job.first_start_ns = job.attempt_start_ns;
  if (job.attempts > 0) ++retries_;
  ++job.attempts;
  job.hedged = false;
  try {
    job.attempt = start_transfer(job, false);
  } catch (const Error& error) {
    fail(job, error);
  } catch (const std::exception& error) {
    fail(job, failure_of(job, error.what()));
  }
}

std::unique_ptr<Transfer> Engine::start_transfer(Job& job, bool hedge) {
  std::unique_ptr<Transfer> transfer;
  if (idle_.empty()) {
    transfer = std::make_unique<Transfer>(options_);
  } else {
    transfer = std::move(idle_.back());
    idle_.pop_back();
  }
  const std::chrono::nanoseconds used(clock_.now_ns() - job.first_start_ns);
  const auto left = options_.total_timeout - std::chrono::duration_cast<std::chrono::milliseconds>(used);
  transfer->start(job.fetch, job.done, hedge, left);
  check(curl_multi_add_handle(multi_, transfer->easy()));
  ++requests_;
  return transfer;
}

void Engine::start_hedges() {
  if (options_.hedge_factor <= 0) return;
  const std::int64_t now = clock_.now_ns();
  for (const JobPtr& job : active_) {
    if (hedges_running_ > options_.in_flight / 10) return;
    if (job->hedged || job->fetch.pin == nullptr || !job->attempt) continue;
    const auto usual = latency_.p95_ns(job->fetch.length - job->done);
    if (!usual) continue;
    const double patience = std::max(static_cast<double>(*usual) * options_.hedge_factor,
                                     static_cast<double>(options_.hedge_floor.count() * kNsPerMs));
    if (static_cast<double>(now - job->attempt_start_ns) < patience) continue;
    job->hedged = true;
    try {
      job->hedge = start_transfer(*job, true);
      ++hedges_;
      ++hedges_running_;
    } catch (const std::exception&) {
      // No memory or credentials for a second request: the first is still in flight and reports its own failure.
    }
  }
}

void Engine::collect_finished() {
  struct Finished {
    CURL* easy;
    CURLcode code;
  };
  std::vector<Finished> all;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) all.push_back({message->easy_handle, message->data.result});
  }
  for (const Finished& one : all) {
    // An earlier one may have failed its batch and so ended this one.
    const auto owner = std::find_if(active_.begin(), active_.end(), [&](const JobPtr& job) {
      return (job->attempt && job->attempt->easy() == one.easy) || (job->hedge && job->hedge->easy() == one.easy);
    });
    if (owner == active_.end()) continue;
    Job& job = **owner;
    const bool hedge = job.hedge && job.hedge->easy() == one.easy;
    finished(job, hedge, (hedge ? job.hedge : job.attempt)->verdict(one.code));
  }
}

void Engine::finished(Job& job, bool hedge, const Verdict& verdict) {
  std::unique_ptr<Transfer>& mine = hedge ? job.hedge : job.attempt;
  const bool other_runs = (hedge ? job.attempt : job.hedge) != nullptr;
  if (verdict.outcome == Outcome::kDone) {
    mine->deliver();
    if (hedge) ++hedges_won_;
    if (job.fetch.pin != nullptr) {
      latency_.add(job.fetch.length - job.done, clock_.now_ns() - job.attempt_start_ns);
    }
    return complete(job);
  }
  // Bytes of the first request are kept; the bytes of a hedge are in its own memory.
  const std::uint64_t received = !hedge && job.fetch.pin != nullptr ? mine->reply().received() : 0;
  if (hedge) --hedges_running_;
  drop(mine);
  if (verdict.outcome == Outcome::kFatal) return fail(job, failure_of(job, verdict.reason));
  if (other_runs) return;
  job.done += received;
  retry_or_fail(job, verdict);
}

void Engine::retry_or_fail(Job& job, const Verdict& verdict) {
  const std::int64_t now = clock_.now_ns();
  const std::chrono::nanoseconds wait = backoff_.wait_after(job.attempts, verdict.retry_after);
  const bool too_late = now + wait.count() - job.first_start_ns > options_.total_timeout.count() * kNsPerMs;
  if (job.attempts >= options_.attempts || too_late) return fail(job, failure_of(job, verdict.reason));
  JobPtr moved = remove_active(job);
  moved->due_ns = now + wait.count();
  waiting_.push_back(std::move(moved));
}

void Engine::complete(Job& job) {
  const JobPtr owned = remove_active(job);
  drop(owned->attempt);
  if (owned->hedge) --hedges_running_;
  drop(owned->hedge);
  settle(owned->batch);
}

void Engine::fail(Job& job, const Error& error) { end_batch(remove_active(job), error); }

// For a job that was removed from its list.
void Engine::end_batch(JobPtr owned, const Error& error) {
  drop(owned->attempt);
  if (owned->hedge) --hedges_running_;
  drop(owned->hedge);
  cancel_rest_of(owned->batch);
  {
    const std::lock_guard lock(owned->batch.mutex);
    owned->batch.failure = Failure{error.kind(), error.what()};
  }
  settle(owned->batch);
}

void Engine::cancel_rest_of(Batch& batch) {
  const auto cancel = [&](auto& jobs) {
    const auto doomed =
        std::stable_partition(jobs.begin(), jobs.end(), [&](const JobPtr& job) { return &job->batch != &batch; });
    for (auto it = doomed; it != jobs.end(); ++it) {
      drop((*it)->attempt);
      if ((*it)->hedge) --hedges_running_;
      drop((*it)->hedge);
      settle(batch);
    }
    jobs.erase(doomed, jobs.end());
  };
  cancel(active_);
  cancel(waiting_);
  cancel(queue_);
}

// Removes a transfer from libcurl in any state and keeps its handle for the next.
void Engine::drop(std::unique_ptr<Transfer>& transfer) {
  if (!transfer) return;
  received_bytes_ += transfer->reply().body_bytes();
  connections_ += static_cast<std::uint64_t>(transfer->connections_opened());
  check(curl_multi_remove_handle(multi_, transfer->easy()));
  idle_.push_back(std::move(transfer));
}

Engine::JobPtr Engine::remove_active(Job& job) {
  const auto found = std::find_if(active_.begin(), active_.end(), [&](const JobPtr& one) { return one.get() == &job; });
  JobPtr owned = std::move(*found);
  active_.erase(found);
  return owned;
}

// Ends a batch: afterwards its caller may return and destroy it.
void Engine::settle(Batch& batch) {
  const std::lock_guard lock(batch.mutex);
  if (--batch.pending == 0) batch.settled.notify_all();
}

Error Engine::failure_of(const Job& job, const std::string& reason) const {
  std::string text = job.fetch.action + " " + job.fetch.name;
  if (job.fetch.pin != nullptr) {
    text += " at offset " + std::to_string(job.fetch.first) + " (" + std::to_string(job.fetch.length) + " bytes)";
  }
  text += ": " + reason;
  if (job.attempts > 1) {
    const double seconds = static_cast<double>(clock_.now_ns() - job.first_start_ns) / 1e9;
    char took[64];
    std::snprintf(took, sizeof took, "; %d attempts in %.1f s", job.attempts, seconds);
    text += took;
  }
  return Error(ErrorKind::kIo, text);
}

int Engine::poll_ms() const {
  // Long enough to idle, short enough to notice stragglers; submissions wake it.
  constexpr std::int64_t kIdleMs = 1000, kHedgeCheckMs = 10;
  if (!queue_.empty() && active_.size() < options_.in_flight) return 0;
  std::int64_t wait = active_.empty() || options_.hedge_factor <= 0 ? kIdleMs : kHedgeCheckMs;
  const std::int64_t now = clock_.now_ns();
  for (const JobPtr& job : waiting_)
    wait = std::min(wait, std::max<std::int64_t>(0, (job->due_ns - now + kNsPerMs - 1) / kNsPerMs));
  return static_cast<int>(wait);
}

}  // namespace unstarve::remote
