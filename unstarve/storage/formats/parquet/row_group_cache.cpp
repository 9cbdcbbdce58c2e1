#include "unstarve/storage/formats/parquet/row_group_cache.h"

#include <utility>

#include "unstarve/core/cancel.h"
#include "unstarve/core/error.h"

namespace unstarve {

RowGroupCache::RowGroupCache(Source source, std::uint64_t budget_bytes, int threads)
    : source_(std::move(source)), budget_(budget_bytes), pool_(threads) {}

std::shared_ptr<const RowGroup> RowGroupCache::get(std::size_t group) {
  Lock lock(mutex_);
  const auto found = entries_.find(group);
  if (found != entries_.end() && found->second.state == State::kReady && found->second.group) {
    recent_.splice(recent_.begin(), recent_, found->second.recent);
    if (group == expected_next_) note_order(group);  // it was decoded in advance
    return found->second.group;
  }
  note_order(group);
  return wait_or_decode(group, lock);
}

std::shared_ptr<const RowGroup> RowGroupCache::wait_or_decode(std::size_t group, Lock& lock) {
  for (;;) {
    const auto found = entries_.find(group);
    // A queued group is decoded here: the pool may be busy with groups that no thread waits for.
    if (found == entries_.end() || found->second.state == State::kQueued) return decode(group, lock);
    if (found->second.state == State::kReady) {
      recent_.splice(recent_.begin(), recent_, found->second.recent);
      if (found->second.failure) std::rethrow_exception(found->second.failure);
      return found->second.group;
    }
    settled_.wait(lock);
  }
}

// The lock is held on entry and on exit, also if an exception is thrown.
std::shared_ptr<const RowGroup> RowGroupCache::decode(std::size_t group, Lock& lock) {
  std::list<std::size_t> node{group};  // allocated before other threads wait: nothing may fail between the two locks
  entries_[group].state = State::kDecoding;
  lock.unlock();
  std::shared_ptr<const RowGroup> decoded;
  std::exception_ptr failure, cached_failure;
  try {
    decoded = source_.decode(group);
  } catch (const Error& error) {
    failure = std::current_exception();
    if (error.kind() == ErrorKind::kInput) cached_failure = failure;
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  settle(node, decoded, cached_failure);
  settled_.notify_all();
  if (failure) std::rethrow_exception(failure);
  return decoded;
}

// Caches the result of decoding, or removes the entry if there is nothing to cache.
void RowGroupCache::settle(std::list<std::size_t>& node, std::shared_ptr<const RowGroup> decoded,
                           std::exception_ptr failure) noexcept {
  const std::size_t group = node.front();
  ++decoded_;
  if (!decoded && !failure) {
    entries_.erase(group);
    return;
  }
  Entry& entry = entries_.find(group)->second;
  recent_.splice(recent_.begin(), node);
  entry.recent = recent_.begin();
  entry.state = State::kReady;
  entry.bytes = decoded ? decoded->memory_bytes() : sizeof(Entry);
  entry.group = std::move(decoded);
  entry.failure = std::move(failure);
  held_ += entry.bytes;
  evict(group);
}

void RowGroupCache::evict(std::size_t keep) noexcept {
  while (held_ > budget_ && recent_.back() != keep) {
    const auto oldest = entries_.find(recent_.back());
    held_ -= oldest->second.bytes;
    entries_.erase(oldest);
    recent_.pop_back();
  }
}

// Records a request for `group`. If it continues sequential reading, queues the next groups.
void RowGroupCache::note_order(std::size_t group) {
  const bool in_order = group == expected_next_;
  expected_next_ = group + 1;
  if (!in_order) return;
  std::uint64_t bytes = source_.expected_bytes(group);
  for (std::size_t next = group + 1; next < source_.groups && next <= group + static_cast<std::size_t>(pool_.threads());
       ++next) {
    bytes += source_.expected_bytes(next);
    if (bytes > budget_ / 2) return;
    queue(next);
  }
}

void RowGroupCache::queue(std::size_t group) {
  if (entries_.contains(group) || in_flight_ >= 2 * static_cast<std::size_t>(pool_.threads())) return;
  entries_.emplace(group, Entry());
  const CancelScope none{std::stop_token()};  // a cancelled task would never leave in_flight_
  pool_.submit([this, group] { run_queued(group); });
  ++in_flight_;
}

void RowGroupCache::run_queued(std::size_t group) noexcept {
  Lock lock(mutex_);
  try {
    const auto found = entries_.find(group);
    // A reader may have taken the group over, and it may even have been evicted since.
    if (found != entries_.end() && found->second.state == State::kQueued) (void)decode(group, lock);
  } catch (...) {  // cached, or thrown again when a reader retries
  }
  --in_flight_;
}

void RowGroupCache::prefetch(std::size_t group) noexcept {
  try {
    const Lock lock(mutex_);
    if (group < source_.groups && source_.expected_bytes(group) <= budget_ / 2) queue(group);
  } catch (...) {  // out of memory: prefetch is only a hint
  }
}

std::uint64_t RowGroupCache::decoded() const {
  const Lock lock(mutex_);
  return decoded_;
}

}  // namespace unstarve
