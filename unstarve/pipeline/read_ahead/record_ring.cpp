#include "unstarve/pipeline/read_ahead/record_ring.h"

#include <algorithm>
#include <utility>

namespace unstarve {

RecordRing::RecordRing(std::uint64_t samples, std::uint64_t chunk, const Options& options)
    : samples_(samples),
      chunk_(chunk),
      relaxed_(options.relaxed),
      entries_(2 * static_cast<std::size_t>(options.reads)),
      memory_(options.limit_bytes, entries_.size()),
      end_(options.paused ? 0 : samples),
      reads_(static_cast<std::uint64_t>(options.reads)) {}

std::uint64_t RecordRing::window() const { return std::min(memory_.window(), std::max<std::uint64_t>(2, 2 * reads_)); }

std::uint64_t RecordRing::may_begin() const {
  // Whole chunks only: records that are started one by one, as workers free entries, could not be read together.
  const std::uint64_t count = std::min({chunk_, window() / 2, end_ - begun_});
  if (begun_ - taken_ + count > window()) return 0;
  // The last reader that fits starts a whole chunk too.
  if (reading_ >= reads_) return 0;
  if (relaxed_) return count;  // as many entries are free
  for (std::uint64_t i = 0; i < count; ++i)
    if (entries_[(begun_ + i) % entries_.size()].state != State::kFree) return 0;
  return count;
}

RecordRing::Entry& RecordRing::free_entry(std::uint64_t number) {
  if (!relaxed_) return entry_of(number);
  return *std::find_if(entries_.begin(), entries_.end(),
                       [](const Entry& entry) { return entry.state == State::kFree; });
}

void RecordRing::begin(std::uint64_t count, std::vector<Entry*>& entries) {
  entries.clear();
  reading_ += count;
  for (std::uint64_t i = 0; i < count; ++i) {
    Entry& entry = free_entry(begun_);
    entry.state = State::kReading;
    entry.number = begun_++;
    memory_.take_spare(entry.record);
    memory_.remove(entry.record);
    entries.push_back(&entry);
  }
}

std::size_t RecordRing::end(const std::vector<Entry*>& entries) {
  reading_ -= entries.size();
  std::size_t total = 0;
  for (Entry* const entry : entries) {
    entry->state = State::kReady;
    std::size_t bytes = 0;
    for (const Value& value : entry->record.values) bytes += value.bytes.size();
    total += bytes;
    memory_.note_read(entry->record, entry->skipped || entry->failure ? 0 : bytes);
    if (std::exchange(entry->dropped, false)) drop(*entry);
  }
  return total;
}

RecordRing::Entry* RecordRing::first_ready() {
  Entry* first = nullptr;
  for (Entry& entry : entries_)
    if (entry.state == State::kReady && entry.number < allowed_ && (!first || entry.number < first->number))
      first = &entry;
  return first;
}

void RecordRing::take(Entry& entry, RecordBuffer& record) {
  memory_.remove(entry.record);
  std::swap(entry.record, record);
  entry.state = State::kFree;
  ++taken_;
  // In a narrow window the next record is read into another entry.
  const bool spare = window() < entries_.size() && entry.record.storage.capacity() > 0;
  if (paused() || !memory_.fits(entry.record) || (spare && begun_ - taken_ + memory_.spare() >= window())) {
    entry.record = {};
    return;
  }
  memory_.add(entry.record);
  if (spare) memory_.put_spare(entry.record);
}

void RecordRing::drop(Entry& entry) {
  memory_.free(entry.record);
  entry.failure = nullptr;
  entry.state = State::kFree;
}

void RecordRing::pause(std::uint64_t first) {
  if (paused()) return;
  end_ = first;
  begun_ = std::min(begun_, first);
  for (Entry& entry : entries_) {
    if (entry.state != State::kFree && entry.number < first) continue;
    if (entry.state == State::kReading)
      entry.dropped = true;
    else
      drop(entry);
  }
  memory_.free_spare();
}

bool RecordRing::resume(std::uint64_t first) {
  if (!paused() || begun_ < end_) return false;
  taken_ += first - begun_;
  begun_ = first;
  end_ = samples_;
  return true;
}

}  // namespace unstarve
