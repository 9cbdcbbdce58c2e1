#include "unstarve/pipeline/executor/read_ahead.h"

#include <algorithm>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/thread_time.h"

namespace unstarve {
namespace {

// This many records at a time are enough for the kernel to order their reads; more readers gain nothing.
constexpr int kChunk = 4;
constexpr int kMostReaders = 16;
// In relaxed order each read has its own thread.
constexpr int kMostRelaxedReaders = 64;

std::uint64_t chunk_for(int reads, bool relaxed) {
  if (relaxed) return 1;
  const int readers = std::clamp(reads / kChunk, 1, kMostReaders);
  return static_cast<std::uint64_t>((reads + readers - 1) / readers);
}

}  // namespace

ReadAhead::ReadAhead(std::shared_ptr<const Dataset> dataset, const RunOrder& order, Options options, Skip skip)
    : dataset_(std::move(dataset)),
      order_(order),
      options_(options),
      skip_(std::move(skip)),
      chunk_(chunk_for(options.reads, options.relaxed)),
      ring_(2 * static_cast<std::size_t>(options.reads)),
      memory_(options.limit_bytes, ring_.size()),
      end_(options.paused ? 0 : order_.samples()),
      reads_(static_cast<std::uint64_t>(options.reads)) {
  const auto reads =
      static_cast<std::uint64_t>(options_.relaxed ? std::min(options_.reads, kMostRelaxedReaders) : options_.reads);
  try {
    for (std::uint64_t i = 0; i < (reads + chunk_ - 1) / chunk_; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    close();  // the started threads are joined before the other members are destroyed
    throw Error(ErrorKind::kMemory, std::string("start a read-ahead thread: ") + error.what());
  }
}

ReadAhead::~ReadAhead() { close(); }

void ReadAhead::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  free_.notify_all();
  ready_.notify_all();
}

std::uint64_t ReadAhead::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return memory_.bytes();
}

StageProfile ReadAhead::profile() const {
  const std::lock_guard lock(mutex_);
  return profile_;
}

void ReadAhead::set_reads(int reads) {
  {
    const std::lock_guard lock(mutex_);
    reads_ = std::max(chunk_, static_cast<std::uint64_t>(reads));
  }
  free_.notify_all();
}

void ReadAhead::drop(Entry& entry) {
  memory_.free(entry.record);
  entry.failure = nullptr;
  entry.state = State::kFree;
}

void ReadAhead::pause(std::uint64_t first) {
  const std::lock_guard lock(mutex_);
  if (paused()) return;
  end_ = first;
  begun_ = std::min(begun_, first);
  for (Entry& entry : ring_) {
    if (entry.state != State::kFree && entry.number < first) continue;
    if (entry.state == State::kReading)
      entry.dropped = true;
    else
      drop(entry);
  }
  memory_.free_spare();
}

bool ReadAhead::resume(std::uint64_t first) {
  {
    const std::lock_guard lock(mutex_);
    if (!paused() || begun_ < end_) return false;
    taken_ += first - begun_;
    begun_ = first;
    end_ = order_.samples();
  }
  free_.notify_all();
  return true;
}

std::uint64_t ReadAhead::window() const { return std::min(memory_.window(), std::max<std::uint64_t>(2, 2 * reads_)); }

std::uint64_t ReadAhead::may_begin() const {
  // Whole chunks only: records that are started one by one, as workers free entries, could not be read together.
  const std::uint64_t count = std::min({chunk_, window() / 2, end_ - begun_});
  if (begun_ - taken_ + count > window()) return 0;
  // The last reader that fits starts a whole chunk too.
  if (reading_ >= reads_) return 0;
  if (options_.relaxed) return count;  // as many entries are free
  for (std::uint64_t i = 0; i < count; ++i)
    if (ring_[(begun_ + i) % ring_.size()].state != State::kFree) return 0;
  return count;
}

ReadAhead::Entry& ReadAhead::entry_for(std::uint64_t number) {
  if (!options_.relaxed) return ring_[number % ring_.size()];
  return *std::find_if(ring_.begin(), ring_.end(), [](const Entry& entry) { return entry.state == State::kFree; });
}

void ReadAhead::begin(Reader& reader, std::uint64_t count) {
  reader.entries.clear();
  reading_ += count;
  for (std::uint64_t i = 0; i < count; ++i) {
    Entry& entry = entry_for(begun_);
    entry.state = State::kReading;
    entry.number = begun_++;
    memory_.take_spare(entry.record);
    memory_.remove(entry.record);
    reader.entries.push_back(&entry);
  }
}

void ReadAhead::find_ids(Reader& reader) const {
  for (Entry* const entry : reader.entries) {
    const RunOrder::EpochSample at = order_.epoch_sample(entry->number);
    if (!reader.epoch || at.epoch != reader.epoch_number) {
      reader.epoch_number = at.epoch;
      reader.epoch.emplace(order_.order(at.epoch), at.epoch);
    }
    entry->id = reader.epoch->id_at(at.sample);
  }
}

// The entries are used by this thread alone.
void ReadAhead::read(Reader& reader) const {
  std::vector<std::uint64_t>& ids = reader.ids;
  ids.clear();
  for (Entry* const entry : reader.entries) {
    entry->skipped = skip_ && skip_(entry->id);
    if (entry->skipped) continue;
    std::swap(reader.records[ids.size()], entry->record);
    ids.push_back(entry->id);
  }
  bool together = true;
  try {
    dataset_->read_many(ids, std::span(reader.records).first(ids.size()));
  } catch (const std::exception&) {
    together = false;  // reading each record alone shows which one is bad
  }
  std::size_t read = 0;
  for (Entry* const entry : reader.entries) {
    if (entry->skipped) continue;
    if (!together) {
      try {
        dataset_->read(entry->id, reader.records[read]);
      } catch (...) {
        entry->failure = std::current_exception();
      }
    }
    std::swap(reader.records[read++], entry->record);
  }
}

void ReadAhead::end(Reader& reader, const StageProfile& measured) {
  const auto count = static_cast<std::int64_t>(reader.entries.size());
  reading_ -= reader.entries.size();
  profile_.samples += count;
  profile_.busy_ns += measured.busy_ns * count;
  profile_.cpu_ns += measured.cpu_ns;
  profile_.awake_ns += measured.awake_ns * count;
  for (Entry* const entry : reader.entries) {
    entry->state = State::kReady;
    std::size_t bytes = 0;
    for (const Value& value : entry->record.values) bytes += value.bytes.size();
    profile_.bytes += static_cast<std::int64_t>(bytes);
    memory_.note_read(entry->record, entry->skipped || entry->failure ? 0 : bytes);
    if (std::exchange(entry->dropped, false)) drop(*entry);
  }
}

void ReadAhead::work() {
  Reader reader;
  reader.entries.reserve(chunk_);
  reader.ids.reserve(chunk_);
  reader.records.resize(chunk_);
  RunDelay delay;
  std::unique_lock lock(mutex_);
  while (true) {
    std::uint64_t count = 0;
    free_.wait(lock, [&] { return closed_ || (count = may_begin()) > 0; });
    if (closed_) return;
    begin(reader, count);
    lock.unlock();
    find_ids(reader);
    (void)delay.take_ns();  // since the previous records
    StageProfile measured;
    const std::int64_t start_ns = steady_clock().now_ns(), start_cpu_ns = thread_cpu_ns();
    const std::optional<std::int64_t> sleeps = thread_sleeps();
    read(reader);
    measured.busy_ns = steady_clock().now_ns() - start_ns;
    measured.cpu_ns = thread_cpu_ns() - start_cpu_ns;
    if (sleeps)
      measured.awake_ns =
          thread_sleeps() == sleeps ? measured.busy_ns : std::min(measured.busy_ns, measured.cpu_ns + delay.take_ns());
    lock.lock();
    end(reader, measured);
    ready_.notify_all();
    free_.notify_one();
  }
}

void ReadAhead::hand_over(Entry& entry, RecordBuffer& record) {
  memory_.remove(entry.record);
  std::swap(entry.record, record);
  entry.state = State::kFree;
  ++taken_;
  // In a narrow window the next record is read into another entry.
  const bool spare = window() < ring_.size() && entry.record.storage.capacity() > 0;
  if (paused() || !memory_.fits(entry.record) || (spare && begun_ - taken_ + memory_.spare() >= window())) {
    entry.record = {};
    return;
  }
  memory_.add(entry.record);
  if (spare) memory_.put_spare(entry.record);
}

bool ReadAhead::take(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index, RecordBuffer& record) {
  const std::uint64_t number = order_.number(epoch, batch, index);
  std::unique_lock lock(mutex_);
  Entry& entry = ring_[number % ring_.size()];
  ready_.wait(lock, [&] { return closed_ || (entry.state == State::kReady && entry.number == number); });
  if (closed_) return false;
  const std::exception_ptr failure = std::exchange(entry.failure, nullptr);
  const bool skipped = entry.skipped;
  hand_over(entry, record);
  lock.unlock();
  free_.notify_one();
  if (failure) std::rethrow_exception(failure);
  return !skipped;
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
  Ready ready{entry->number, !entry->skipped, std::exchange(entry->failure, nullptr)};
  hand_over(*entry, record);
  const bool last = taken_ == order_.samples();
  lock.unlock();
  free_.notify_one();
  if (last) ready_.notify_all();
  return ready;
}

void ReadAhead::allow(std::uint64_t before) {
  {
    const std::lock_guard lock(mutex_);
    allowed_ = before;
  }
  ready_.notify_all();
}

}  // namespace unstarve
