#include "unstarve/storage/remote/engine.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <stop_token>

#include "unstarve/core/cancel.h"
#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve::remote {
namespace {

using Outcome = Verdict::Outcome;
constexpr std::int64_t kNsPerMs = 1'000'000;

std::uint64_t seed_of_system() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

Engine::Engine(RemoteOptions options)
    : options_(std::move(options)),
      clock_(steady_clock()),
      backoff_(options_.first_wait, options_.longest_wait,
               options_.jitter_seed ? *options_.jitter_seed : seed_of_system()),
      hedging_(options_),
      transfers_(options_) {
  thread_ = std::thread([this] { run(); });
}

Engine::~Engine() {
  inbox_.stop();
  transfers_.wake();
  thread_.join();
}

void Engine::fetch(std::span<Fetch> fetches) {
  if (fetches.empty()) return;
  FetchBatch batch(fetches.size());
  inbox_.submit(fetches, batch);
  transfers_.wake();
  const std::stop_callback cancel(cancel_token(), [&] {
    batch.cancel();
    inbox_.report_cancelled();
    transfers_.wake();
  });
  batch.wait();
}

RemoteStatistics Engine::statistics() const {
  RemoteStatistics statistics;
  statistics.requests = transfers_.requests();
  statistics.retries = retries_;
  statistics.hedges = hedging_.hedges();
  statistics.hedges_won = hedging_.hedges_won();
  statistics.connections = transfers_.connections();
  statistics.received_bytes = transfers_.received_bytes();
  return statistics;
}

void Engine::run() {
  pthread_setname_np(pthread_self(), "unstarve-net");
  try {
    while (!inbox_.stopping()) step();
  } catch (const Error& error) {
    die(error);
  } catch (const std::exception& error) {
    die(internal_error("remote reading ended: {}", error.what()));
  }
}

void Engine::step() {
  // Checked before jobs are taken: a later request finds its jobs taken by the next step.
  const bool any_cancelled = inbox_.take_cancelled();
  inbox_.take_into(queue_);
  if (any_cancelled) end_cancelled();
  wake_waiting();
  start_queued();
  start_hedges();
  for (const TransferPool::Completed& one : transfers_.perform()) take_completed(one);
  transfers_.wait(poll_ms());
}

// Out of memory, or libcurl failed: fails all current and future fetches.
void Engine::die(const Error& error) noexcept {
  const Failure failure(error);
  const auto fail_jobs = [&](auto&& jobs) {
    for (const FetchJobPtr& job : jobs) {
      for (auto* transfer : {job->attempt.get(), job->hedge.get()}) {
        if (transfer != nullptr) transfers_.abandon(*transfer);
      }
      job->batch.end_one(&failure);
    }
    jobs.clear();
  };
  fail_jobs(inbox_.close(failure));
  fail_jobs(active_);
  fail_jobs(waiting_);
  fail_jobs(queue_);
}

void Engine::end_cancelled() {
  const auto end = [&](auto& jobs) {
    for (;;) {
      const auto found =
          std::find_if(jobs.begin(), jobs.end(), [](const FetchJobPtr& job) { return job->batch.cancelled(); });
      if (found == jobs.end()) return;
      FetchJobPtr owned = std::move(*found);
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
  const auto due = std::stable_partition(waiting_.begin(), waiting_.end(),
                                         [&](const FetchJobPtr& job) { return job->due_ns > now; });
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

void Engine::start_attempt(FetchJob& job) {
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
    fail(job, failure_of(job, {Outcome::kFatal, error.what(), std::nullopt}));
  }
}

std::unique_ptr<Transfer> Engine::start_transfer(FetchJob& job, bool hedge) {
  const std::chrono::nanoseconds used(clock_.now_ns() - job.first_start_ns);
  const auto left = options_.total_timeout - std::chrono::duration_cast<std::chrono::milliseconds>(used);
  return transfers_.start(job.fetch, job.done, hedge, left);
}

void Engine::start_hedges() {
  if (!hedging_.enabled()) return;
  const std::int64_t now = clock_.now_ns();
  for (const FetchJobPtr& job : active_) {
    if (!hedging_.may_start()) return;
    if (job->hedged || job->fetch.pin == nullptr || !job->attempt) continue;
    if (!hedging_.is_straggler(job->fetch.length - job->done, now - job->attempt_start_ns)) continue;
    job->hedged = true;
    try {
      job->hedge = start_transfer(*job, true);
      hedging_.count_start();
    } catch (const std::exception&) {
      // No memory or credentials for a second request: the first is still in flight and reports its own failure.
    }
  }
}

void Engine::take_completed(const TransferPool::Completed& one) {
  // One that completed before may have failed its batch and so ended this one.
  const auto owner = std::find_if(active_.begin(), active_.end(), [&](const FetchJobPtr& job) {
    return (job->attempt && job->attempt->easy() == one.easy) || (job->hedge && job->hedge->easy() == one.easy);
  });
  if (owner == active_.end()) return;
  FetchJob& job = **owner;
  const bool hedge = job.hedge && job.hedge->easy() == one.easy;
  finished(job, hedge, (hedge ? job.hedge : job.attempt)->verdict(one.code));
}

void Engine::finished(FetchJob& job, bool hedge, const Verdict& verdict) {
  std::unique_ptr<Transfer>& mine = hedge ? job.hedge : job.attempt;
  const bool other_runs = (hedge ? job.attempt : job.hedge) != nullptr;
  if (verdict.outcome == Outcome::kDone) {
    mine->deliver();
    if (hedge) hedging_.count_won();
    if (job.fetch.pin != nullptr) {
      hedging_.add_latency(job.fetch.length - job.done, clock_.now_ns() - job.attempt_start_ns);
    }
    return complete(job);
  }
  // Bytes of the first request are kept; the bytes of a hedge are in its own memory.
  const std::uint64_t received = !hedge && job.fetch.pin != nullptr ? mine->reply().received() : 0;
  if (hedge) hedging_.count_end();
  transfers_.end(mine);
  if (hedge && other_runs) return;  // its failure is not that of the first request
  if (verdict.outcome == Outcome::kFatal) return fail(job, failure_of(job, verdict));
  if (other_runs) return;
  job.done += received;
  retry_or_fail(job, verdict);
}

void Engine::retry_or_fail(FetchJob& job, const Verdict& verdict) {
  const std::int64_t now = clock_.now_ns();
  const std::chrono::nanoseconds wait = backoff_.wait_after(job.attempts, verdict.retry_after);
  const bool too_late = now + wait.count() - job.first_start_ns > options_.total_timeout.count() * kNsPerMs;
  if (job.attempts >= options_.attempts || too_late) return fail(job, failure_of(job, verdict));
  FetchJobPtr moved = remove_active(job);
  moved->due_ns = now + wait.count();
  waiting_.push_back(std::move(moved));
}

void Engine::complete(FetchJob& job) {
  const FetchJobPtr owned = remove_active(job);
  end_transfers(*owned);
  owned->batch.end_one();
}

void Engine::fail(FetchJob& job, const Error& error) { end_batch(remove_active(job), error); }

// For a job that was removed from its list.
void Engine::end_batch(FetchJobPtr owned, const Error& error) {
  end_transfers(*owned);
  cancel_rest_of(owned->batch);
  const Failure failure(error);
  owned->batch.end_one(&failure);
}

void Engine::cancel_rest_of(FetchBatch& batch) {
  const auto cancel = [&](auto& jobs) {
    const auto doomed =
        std::stable_partition(jobs.begin(), jobs.end(), [&](const FetchJobPtr& job) { return &job->batch != &batch; });
    for (auto it = doomed; it != jobs.end(); ++it) {
      end_transfers(**it);
      batch.end_one();
    }
    jobs.erase(doomed, jobs.end());
  };
  cancel(active_);
  cancel(waiting_);
  cancel(queue_);
}

void Engine::end_transfers(FetchJob& job) {
  transfers_.end(job.attempt);
  if (job.hedge) hedging_.count_end();
  transfers_.end(job.hedge);
}

FetchJobPtr Engine::remove_active(FetchJob& job) {
  const auto found =
      std::find_if(active_.begin(), active_.end(), [&](const FetchJobPtr& one) { return one.get() == &job; });
  FetchJobPtr owned = std::move(*found);
  active_.erase(found);
  return owned;
}

Error Engine::failure_of(const FetchJob& job, const Verdict& verdict) const {
  std::string text = job.fetch.action + " " + job.fetch.name;
  if (job.fetch.pin != nullptr) {
    text += fmt::format(" at offset {} ({} bytes)", job.fetch.first, job.fetch.length);
  }
  text += ": " + verdict.reason;
  if (job.attempts > 1) {
    const double seconds = static_cast<double>(clock_.now_ns() - job.first_start_ns) / 1e9;
    char took[64];
    std::snprintf(took, sizeof took, "; %d attempts in %.1f s", job.attempts, seconds);
    text += took;
  }
  return Error(verdict.unreachable ? job.fetch.unreachable : ErrorKind::kIo, text);
}

int Engine::poll_ms() const {
  // Long enough to idle, short enough to notice stragglers; submissions wake it.
  constexpr std::int64_t kIdleMs = 1000, kHedgeCheckMs = 10;
  if (!queue_.empty() && active_.size() < options_.in_flight) return 0;
  std::int64_t wait = active_.empty() || !hedging_.enabled() ? kIdleMs : kHedgeCheckMs;
  const std::int64_t now = clock_.now_ns();
  for (const FetchJobPtr& job : waiting_)
    wait = std::min(wait, std::max<std::int64_t>(0, (job->due_ns - now + kNsPerMs - 1) / kNsPerMs));
  return static_cast<int>(wait);
}

}  // namespace unstarve::remote
