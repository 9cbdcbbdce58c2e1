#include "unstarve/storage/cache/encoded_cache.h"

#include <atomic>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "unstarve/core/format_error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/storage/cache/record_arena.h"

namespace unstarve {
namespace {

std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t kTo = RecordArena::kAlignment;
  return (bytes + kTo - 1) / kTo * kTo;
}

class MemoryCache final : public EncodedCache {
 public:
  MemoryCache(std::shared_ptr<const Dataset> inner, std::shared_ptr<ByteBudget> room)
      : inner_(std::move(inner)), arena_(std::move(room)), cached_(inner_->size()) {}

  [[nodiscard]] std::string format() const override { return inner_->format(); }
  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return inner_->fields(); }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return inner_->classes(); }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return inner_->stored_bytes(); }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override { return inner_->record_location(id); }
  [[nodiscard]] std::vector<std::string> notes() const override { return inner_->notes(); }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return inner_->known_label(id);
  }
  [[nodiscard]] std::optional<Size> known_size(std::uint64_t id) const override { return inner_->known_size(id); }
  [[nodiscard]] std::vector<std::uint64_t> parts() const override { return inner_->parts(); }
  [[nodiscard]] std::vector<DataFile> files() const override { return inner_->files(); }
  [[nodiscard]] int reads_in_flight() const override { return inner_->reads_in_flight(); }
  [[nodiscard]] int most_reads_in_flight() const override { return inner_->most_reads_in_flight(); }

  void read(std::uint64_t id, RecordBuffer& record) const override {
    if (const Value* values = cached_[id].load(std::memory_order_acquire); values != nullptr && values != claimed()) {
      record.values.assign(values, values + fields().size());
      return;
    }
    inner_->read(id, record);
    if (!arena_.full()) store(id, record);
  }

  // Runs of records that are not cached are read together.
  void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const override {
    for (std::size_t i = 0; i < ids.size();) {
      std::size_t end = i;
      while (end < ids.size() && !is_cached(ids[end])) ++end;
      if (end == i) {
        read(ids[i], records[i]);
        ++i;
        continue;
      }
      inner_->read_many(ids.subspan(i, end - i), records.subspan(i, end - i));
      for (; i < end; ++i)
        if (!arena_.full()) store(ids[i], records[i]);
    }
  }

  std::span<const std::uint8_t> prefetch(std::uint64_t id) const noexcept override {
    if (cached_[id].load(std::memory_order_relaxed) != nullptr) return {};
    return inner_->prefetch(id);
  }

  [[nodiscard]] CacheCounts counts() const override {
    const RecordArena::Counts stored = arena_.counts();
    return {stored.records, stored.bytes, stored.limit};
  }

 private:
  bool is_cached(std::uint64_t id) const {
    const Value* values = cached_[id].load(std::memory_order_acquire);
    return values != nullptr && values != claimed();
  }

  // Marks a record that a thread is about to store; never dereferenced.
  static const Value* claimed() {
    static const Value value;
    return &value;
  }

  void store(std::uint64_t id, const RecordBuffer& record) const {
    const Value* expected = nullptr;
    if (!cached_[id].compare_exchange_strong(expected, claimed(), std::memory_order_acquire)) return;
    std::size_t need = aligned(sizeof(Value) * record.values.size());
    for (const Value& value : record.values) need += aligned(value.bytes.size());
    std::uint8_t* memory = arena_.allocate(need);
    if (memory == nullptr) {
      cached_[id].store(nullptr, std::memory_order_release);
      return;
    }
    auto* values = reinterpret_cast<Value*>(memory);
    memory += aligned(sizeof(Value) * record.values.size());
    for (std::size_t i = 0; i < record.values.size(); ++i) {
      Value* const value = new (values + i) Value(record.values[i]);
      if (!value->bytes.empty()) std::memcpy(memory, value->bytes.data(), value->bytes.size());
      value->bytes = {memory, value->bytes.size()};
      memory += aligned(value->bytes.size());
    }
    try {
      for (const Value& value : record.values) check_map(value.bytes);
    } catch (const Error&) {
      cached_[id].store(nullptr, std::memory_order_release);
      throw;
    }
    cached_[id].store(values, std::memory_order_release);
  }

  const std::shared_ptr<const Dataset> inner_;
  mutable RecordArena arena_;
  mutable std::vector<std::atomic<const Value*>> cached_;
};

}  // namespace

std::shared_ptr<const EncodedCache> cache_encoded(std::shared_ptr<const Dataset> inner,
                                                  std::shared_ptr<ByteBudget> room) {
  if (inner->field_index(FieldKind::kEncodedImage) < 0) {
    throw argument_error("cache: {} holds raw pixels in memory, which need no cache of encoded records",
                         inner->format());
  }
  return std::make_shared<MemoryCache>(std::move(inner), std::move(room));
}

std::shared_ptr<const EncodedCache> cache_encoded(std::shared_ptr<const Dataset> inner, std::uint64_t limit_bytes) {
  return cache_encoded(std::move(inner), std::make_shared<ByteBudget>(limit_bytes));
}

}  // namespace unstarve
