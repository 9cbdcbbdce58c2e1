#include "unstarve/storage/bytes/decoder_cache.h"

#include <iterator>

#include "unstarve/storage/bytes/zstd_decoder.h"

namespace unstarve {

std::unique_ptr<StreamDecoder> DecoderCache::remove(Table::iterator place) {
  std::unique_ptr<StreamDecoder> decoder = std::move(place->second.decoder);
  bytes_ -= place->second.bytes;
  ages_.erase(place->second.age);
  table_.erase(place);
  return decoder;
}

std::unique_ptr<StreamDecoder> DecoderCache::take(const void* stream, std::uint64_t from, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto behind = table_.upper_bound({stream, offset});
  for (auto it = behind; it != table_.end() && it->first.first == stream; ++it) {
    if (it->first.second - offset > kZstdHistory) break;
    if (it->second.decoder->oldest() <= offset) return remove(it);
  }
  if (behind == table_.begin()) return nullptr;
  const auto before = std::prev(behind);
  if (before->first.first != stream || before->first.second < from) return nullptr;
  return remove(before);
}

void DecoderCache::give(const void* stream, std::unique_ptr<StreamDecoder> decoder) {
  std::list<std::unique_ptr<StreamDecoder>> ended;  // freed without the lock
  const std::size_t bytes = decoder->memory_bytes();
  const Key key{stream, decoder->position()};
  const std::lock_guard lock(mutex_);
  const auto place = table_.emplace(key, Kept{std::move(decoder), bytes, {}});
  place->second.age = ages_.insert(ages_.end(), place);
  bytes_ += bytes;
  while (bytes_ > most_bytes_) ended.push_back(remove(ages_.front()));
}

void DecoderCache::drop(const void* stream) {
  const std::lock_guard lock(mutex_);
  for (auto it = table_.lower_bound({stream, 0}); it != table_.end() && it->first.first == stream;) remove(it++);
}

std::size_t DecoderCache::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

DecoderCache& DecoderCache::of_process() {
  // Never destroyed: streams of static lifetime may drop theirs after it would have been.
  static DecoderCache& cache = *new DecoderCache(kKeptDecoderBytes);
  return cache;
}

}  // namespace unstarve
