#include "unstarve/pipeline/executor/read_ahead.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/thread_time.h"

namespace unstarve {
namespace {

// So many records at a time are enough for the kernel to order their reads; more threads than this gain nothing.
constexpr int kChunk = 4;
constexpr int kMostReaders = 16;
// Of the size of the largest record a 1/kFade-th is forgotten per record: a half in 180.
constexpr std::uint64_t kFade = 256;
// A buffer of more than twice the usual record's bytes is dropped, unless it is small; the mean is over some 64
// records.
constexpr double kFits = 2;
constexpr std::size_t kSmallBuffer = 16'384;
constexpr double kUsualPart = 1.0 / 64;

// In relaxed order each read has its own thread.
constexpr int kMostRelaxedReaders = 64;

std::uint64_t chunk_for(int reads, bool relaxed) {
  if (relaxed) return 1;
  const int readers = std::clamp(reads / kChunk, 1, kMostReaders);
  return static_cast<std::uint64_t>((reads + readers - 1) / readers);
}

}  // namespace

ReadAhead::ReadAhead(std::shared_ptr<const Dataset> dataset, const RunOrder& order, Options options, Spare spare)
    : dataset_(std::move(dataset)),
      order_(order),
      options_(options),
      spare_(std::move(spare)),
      chunk_(chunk_for(options.reads, options.relaxed)),
      ring_(2 * static_cast<std::size_t>(options.reads)),
      begun_(options.first),
      end_(order_.samples()),
      taken_(options.first),
      reads_(static_cast<std::uint64_t>(options.reads)) {
  aside_.reserve(ring_.size());
  const auto reads =
      static_cast<std::uint64_t>(options_.relaxed ? std::min(options_.reads, kMostRelaxedReaders) : options_.reads);
  try {
    for (std::uint64_t i = 0; i < (reads + chunk_ - 1) / chunk_; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    close();  // those that run wait, and are joined before the rest of this goes
    throw Error(ErrorKind::kMemory, std::string("start a read-ahead thread: ") + error.what());
  }
}

ReadAhead::~ReadAhead() { close(); }

void ReadAhead::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  free_.notify_all();
  ready_.notify_all();
}

std::uint64_t ReadAhead::memory_bytes() const {
  std::lock_guard lock(mutex_);
  return held_;
}

void ReadAhead::set_reads(int reads) {
  {
    std::lock_guard lock(mutex_);
    reads_ = std::max(chunk_, static_cast<std::uint64_t>(reads));
  }
  free_.notify_all();
}

void ReadAhead::drop(Entry& entry) {
  held_ -= entry.record.storage.capacity();
  entry.record = {};
  entry.failure = nullptr;
  entry.state = State::kFree;
}

void ReadAhead::pause(std::uint64_t first) {
  const std::lock_guard lock(mutex_);
  if (rests()) return;
  end_ = first;
  begun_ = std::min(begun_, first);
  for (Entry& entry : ring_) {
    if (entry.state != State::kFree && entry.number < first) continue;
    if (entry.state == State::kReading)
      entry.dropped = true;
    else
      drop(entry);
  }
  for (const RecordBuffer& buffer : aside_) held_ -= buffer.storage.capacity();
  aside_.clear();
}

bool ReadAhead::resume(std::uint64_t first) {
  {
    const std::lock_guard lock(mutex_);
    if (!rests() || begun_ < end_) return false;
    taken_ += first - begun_;
    begun_ = first;
    end_ = order_.samples();
  }
  free_.notify_all();
  return true;
}

StageProfile ReadAhead::profile() const {
  std::lock_guard lock(mutex_);
  return profile_;
}

std::uint64_t ReadAhead::bytes_window() const {
  return std::clamp<std::uint64_t>(options_.limit_bytes / largest_, 2, ring_.size());
}

std::uint64_t ReadAhead::window() const { return std::min(bytes_window(), std::max<std::uint64_t>(2, 2 * reads_)); }

std::uint64_t ReadAhead::may_begin() const {
  // Whole chunks only: taken on one by one, as workers free them, they could not be read together.
  const std::uint64_t count = std::min({chunk_, window() / 2, end_ - begun_});
  if (begun_ - taken_ + count > window()) return 0;
  // The last reader that fits takes on a whole chunk, too.
  if (reading_ >= reads_) return 0;
  if (options_.relaxed) return count;  // as many entries are free as may be begun
  for (std::uint64_t i = 0; i < count; ++i)
    if (ring_[(begun_ + i) % ring_.size()].state != State::kFree) return 0;
  return count;
}

ReadAhead::Entry& ReadAhead::entry_for(std::uint64_t number) {
  if (!options_.relaxed) return ring_[number % ring_.size()];
  return *std::find_if(ring_.begin(), ring_.end(), [](const Entry& entry) { return entry.state == State::kFree; });
}

// Reads the records of entries that this thread alone uses meanwhile.
void ReadAhead::read(std::span<Entry* const> entries, std::vector<std::uint64_t>& ids,
                     std::vector<RecordBuffer>& records) {
  ids.clear();
  for (Entry* const entry : entries) {
    entry->spared = spare_ && spare_(entry->id);
    if (entry->spared) continue;
    std::swap(records[ids.size()], entry->record);
    ids.push_back(entry->id);
  }
  bool together = true;
  try {
    dataset_->read_many(ids, std::span(records).first(ids.size()));
  } catch (const std::exception&) {
    // One of them is bad: each for itself, so that its error is its own.
    together = false;
  }
  std::size_t read = 0;
  for (Entry* const entry : entries) {
    if (entry->spared) continue;
    if (!together) {
      try {
        dataset_->read(entry->id, records[read]);
      } catch (...) {
        entry->failure = std::current_exception();
      }
    }
    std::swap(records[read++], entry->record);
  }
}

void ReadAhead::work() {
  std::vector<Entry*> entries;
  entries.reserve(chunk_);
  std::vector<std::uint64_t> ids;
  ids.reserve(chunk_);
  std::vector<RecordBuffer> records(chunk_);
  RunDelay delay;
  std::optional<Order::Epoch> epoch;
  std::uint32_t epoch_number = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    std::uint64_t count = 0;
    free_.wait(lock, [&] { return closed_ || (count = may_begin()) > 0; });
    if (closed_) return;
    entries.clear();
    reading_ += count;
    for (std::uint64_t i = 0; i < count; ++i) {
      Entry& entry = entry_for(begun_);
      entry.state = State::kReading;
      entry.number = begun_++;
      take_aside(entry.record);
      held_ -= entry.record.storage.capacity();
      entries.push_back(&entry);
    }
    lock.unlock();
    for (Entry* const entry : entries) {
      const RunOrder::EpochSample place = order_.epoch_sample(entry->number);
      if (!epoch || place.epoch != epoch_number) {
        epoch_number = place.epoch;
        epoch.emplace(order_.order(epoch_number), epoch_number);
      }
      entry->id = epoch->id_at(place.sample);
    }
    (void)delay.take_ns();  // between two calls
    const std::int64_t started_ns = steady_clock().now_ns(), started_cpu_ns = thread_cpu_ns();
    const std::optional<std::int64_t> sleeps = thread_sleeps();
    read(entries, ids, records);
    const std::int64_t ns = steady_clock().now_ns() - started_ns, cpu_ns = thread_cpu_ns() - started_cpu_ns;
    std::int64_t awake_ns = 0;
    if (sleeps) awake_ns = thread_sleeps() == sleeps ? ns : std::min(ns, cpu_ns + delay.take_ns());
    lock.lock();
    reading_ -= count;
    profile_.samples += static_cast<std::int64_t>(count);
    profile_.busy_ns += ns * static_cast<std::int64_t>(count);
    profile_.cpu_ns += cpu_ns;
    profile_.awake_ns += awake_ns * static_cast<std::int64_t>(count);
    for (Entry* const entry : entries) {
      entry->state = State::kReady;
      std::size_t bytes = 0;
      for (const Value& value : entry->record.values) bytes += value.bytes.size();
      profile_.bytes += static_cast<std::int64_t>(bytes);
      if (!entry->spared && !entry->failure)
        usual_ = usual_ > 0 ? usual_ + (static_cast<double>(bytes) - usual_) * kUsualPart : static_cast<double>(bytes);
      largest_ = std::max<std::uint64_t>(largest_ - largest_ / kFade, entry->record.storage.capacity());
      held_ += entry->record.storage.capacity();
      if (std::exchange(entry->dropped, false)) drop(*entry);
    }
    ready_.notify_all();
    free_.notify_one();
  }
}

bool ReadAhead::fits(const RecordBuffer& record) const {
  // Where the byte limit narrows the window, what lies outside of it must not hold memory.
  if (bytes_window() < ring_.size() || rests()) return false;
  return static_cast<double>(record.storage.capacity()) <= std::max<double>(kFits * usual_, kSmallBuffer);
}

void ReadAhead::set_aside(RecordBuffer& buffer) {
  if (begun_ - taken_ + aside_.size() < window()) {
    held_ += buffer.storage.capacity();
    aside_.push_back(std::move(buffer));
  }
  buffer = {};
}

void ReadAhead::take_aside(RecordBuffer& buffer) {
  if (aside_.empty() || buffer.storage.capacity() > 0) return;
  buffer = std::move(aside_.back());
  aside_.pop_back();
}

void ReadAhead::hand_over(Entry& entry, RecordBuffer& record) {
  held_ -= entry.record.storage.capacity();
  std::swap(entry.record, record);
  entry.state = State::kFree;
  ++taken_;
  if (!fits(entry.record)) {
    entry.record = {};
  } else if (window() < ring_.size() && entry.record.storage.capacity() > 0) {
    set_aside(entry.record);
  } else {
    held_ += entry.record.storage.capacity();
  }
}

bool ReadAhead::take(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index, RecordBuffer& record) {
  const std::uint64_t number = order_.number(epoch, batch, index);
  std::unique_lock lock(mutex_);
  Entry& entry = ring_[number % ring_.size()];
  ready_.wait(lock, [&] { return closed_ || (entry.state == State::kReady && entry.number == number); });
  if (closed_) return false;
  const std::exception_ptr failure = std::exchange(entry.failure, nullptr);
  const bool spared = entry.spared;
  hand_over(entry, record);
  lock.unlock();
  free_.notify_one();
  if (failure) std::rethrow_exception(failure);
  return !spared;
}

ReadAhead::Entry* ReadAhead::ready_entry() {
  Entry* first = nullptr;
  for (Entry& entry : ring_)
    if (entry.state == State::kReady && entry.number < allowed_ && (!first || entry.number < first->number))
      first = &entry;
  return first;
}

std::optional<ReadAhead::Ready> ReadAhead::take_any(RecordBuffer& record) {
  std::unique_lock lock(mutex_);
  Entry* entry = nullptr;
  ready_.wait(lock, [&] { return closed_ || taken_ == order_.samples() || (entry = ready_entry()) != nullptr; });
  if (closed_ || taken_ == order_.samples()) return {};
  Ready ready{entry->number, !entry->spared, std::exchange(entry->failure, nullptr)};
  hand_over(*entry, record);
  const bool last = taken_ == order_.samples();
  lock.unlock();
  free_.notify_one();
  if (last) ready_.notify_all();
  return ready;
}

void ReadAhead::allow(std::uint64_t before) {
  {
    std::lock_guard lock(mutex_);
    allowed_ = before;
  }
  ready_.notify_all();
}

}  // namespace unstarve
