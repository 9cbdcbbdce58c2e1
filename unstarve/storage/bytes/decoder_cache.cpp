#include "unstarve/storage/bytes/decoder_cache.h"

#include <iterator>

#include "unstarve/storage/bytes/zstd_decoder.h"

namespace unstarve {

std::unique_ptr<StreamDecoder> DecoderCache::remove(Table::iterator entry) {
  std::unique_ptr<StreamDecoder> decoder = std::move(entry->second.decoder);
  bytes_ -= entry->second.bytes;
  ages_.erase(entry->second.age);
  table_.erase(entry);
  return decoder;
}

std::unique_ptr<StreamDecoder> DecoderCache::take(const void* stream, std::uint64_t from, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto after = table_.upper_bound({stream, offset});
  for (auto it = after; it != table_.end() && it->first.first == stream; ++it) {
    if (it->first.second - offset > kZstdHistory) break;
    if (it->second.decoder->oldest() <= offset) return remove(it);
  }
  if (after == table_.begin()) return nullptr;
  const auto before = std::prev(after);
  if (before->first.first != stream || before->first.second < from) return nullptr;
  return remove(before);
}

void DecoderCache::give(const void* stream, std::unique_ptr<StreamDecoder> decoder) {
  std::list<std::unique_ptr<StreamDecoder>> ended;  // destroyed after unlocking
  const std::size_t bytes = decoder->memory_bytes();
  const Key key{stream, decoder->position()};
  const std::lock_guard lock(mutex_);
  const auto entry = table_.emplace(key, Entry{std::move(decoder), bytes, {}});
  entry->second.age = ages_.insert(ages_.end(), entry);
  bytes_ += bytes;
  while (bytes_ > max_bytes_) ended.push_back(remove(ages_.front()));
}

void DecoderCache::drop(const void* stream) {
  const std::lock_guard lock(mutex_);
  for (auto it = table_.lower_bound({stream, 0}); it != table_.end() && it->first.first == stream;) remove(it++);
}

std::size_t DecoderCache::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

DecoderCache& DecoderCache::of_process() {
  // Never destroyed: streams of static lifetime may call drop() during exit.
  static DecoderCache& cache = *new DecoderCache(kDecoderCacheBytes);
  return cache;
}

}  // namespace unstarve
