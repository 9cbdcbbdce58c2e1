#include "unstarve/pipeline/read_ahead/read_ahead.h"

#include <pthread.h>

#include <algorithm>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/machine/thread_time.h"

namespace unstarve {
namespace {

// This many records at a time are enough for the kernel to order their reads; more readers gain nothing.
constexpr int kReadsPerReader = 4;
constexpr int kMostReaders = 16;
// In relaxed order each read has its own thread.
constexpr int kMostRelaxedReaders = 64;

std::uint64_t chunk_for(int reads, bool relaxed) {
  if (relaxed) return 1;
  const int readers = std::clamp(reads / kReadsPerReader, 1, kMostReaders);
  return static_cast<std::uint64_t>((reads + readers - 1) / readers);
}

}  // namespace

ReadAhead::ReadAhead(std::shared_ptr<const Dataset> dataset, const RunOrder& order, Options options, Skip skip)
    : dataset_(std::move(dataset)),
      order_(order),
      skip_(std::move(skip)),
      chunk_(chunk_for(options.reads, options.relaxed)),
      ring_(order.samples(), chunk_, options) {
  const auto reads =
      static_cast<std::uint64_t>(options.relaxed ? std::min(options.reads, kMostRelaxedReaders) : options.reads);
  try {
    for (std::uint64_t i = 0; i < (reads + chunk_ - 1) / chunk_; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    close();  // the started threads are joined before the other members are destroyed
    throw memory_error("start a read-ahead thread: {}", error.what());
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
  return ring_.memory_bytes();
}

StageProfile ReadAhead::profile() const {
  const std::lock_guard lock(mutex_);
  return profile_;
}

void ReadAhead::set_reads(int reads) {
  {
    const std::lock_guard lock(mutex_);
    ring_.set_reads(std::max(chunk_, static_cast<std::uint64_t>(reads)));
  }
  free_.notify_all();
}

void ReadAhead::pause(std::uint64_t first) {
  const std::lock_guard lock(mutex_);
  ring_.pause(first);
}

bool ReadAhead::resume(std::uint64_t first) {
  {
    const std::lock_guard lock(mutex_);
    if (!ring_.resume(first)) return false;
  }
  free_.notify_all();
  return true;
}

void ReadAhead::find_ids(Reader& reader) const {
  for (Entry* const entry : reader.entries) {
    const RunOrder::EpochSample at = order_.epoch_sample(entry->number);
    if (!reader.epoch || at.epoch != reader.epoch_number) {
      reader.epoch_number = at.epoch;
      reader.epoch.emplace(order_.of_epoch(at.epoch), at.epoch);
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

void ReadAhead::work() {
  pthread_setname_np(pthread_self(), "unstarve-read");
  Reader reader;
  reader.entries.reserve(chunk_);
  reader.ids.reserve(chunk_);
  reader.records.resize(chunk_);
  RunDelay delay;
  std::unique_lock lock(mutex_);
  while (true) {
    std::uint64_t count = 0;
    free_.wait(lock, [&] { return closed_ || (count = ring_.may_begin()) > 0; });
    if (closed_) return;
    ring_.begin(count, reader.entries);
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
    const auto entries = static_cast<std::int64_t>(reader.entries.size());
    lock.lock();
    profile_.samples += entries;
    profile_.bytes += static_cast<std::int64_t>(ring_.end(reader.entries));
    profile_.busy_ns += measured.busy_ns * entries;
    profile_.cpu_ns += measured.cpu_ns;
    profile_.awake_ns += measured.awake_ns * entries;
    ready_.notify_all();
    free_.notify_one();
  }
}

bool ReadAhead::take(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index, RecordBuffer& record) {
  const std::uint64_t number = order_.number(epoch, batch, index);
  std::unique_lock lock(mutex_);
  Entry& entry = ring_.entry_of(number);
  ready_.wait(lock, [&] { return closed_ || (entry.state == RecordRing::State::kReady && entry.number == number); });
  if (closed_) return false;
  const std::exception_ptr failure = std::exchange(entry.failure, nullptr);
  const bool skipped = entry.skipped;
  ring_.take(entry, record);
  lock.unlock();
  free_.notify_one();
  if (failure) std::rethrow_exception(failure);
  return !skipped;
}

std::optional<ReadAhead::Ready> ReadAhead::take_any(RecordBuffer& record) {
  std::unique_lock lock(mutex_);
  Entry* entry = nullptr;
  ready_.wait(lock, [&] { return closed_ || ring_.all_taken() || (entry = ring_.first_ready()) != nullptr; });
  if (closed_ || ring_.all_taken()) return {};
  Ready ready{entry->number, !entry->skipped, std::exchange(entry->failure, nullptr)};
  ring_.take(*entry, record);
  const bool last = ring_.all_taken();
  lock.unlock();
  free_.notify_one();
  if (last) ready_.notify_all();
  return ready;
}

void ReadAhead::allow(std::uint64_t before) {
  {
    const std::lock_guard lock(mutex_);
    ring_.allow(before);
  }
  ready_.notify_all();
}

}  // namespace unstarve
