#pragma once
// Decoders that stopped after a read, for reads that continue there. All compressed streams of the process share one
// memory budget; the least recently used decoder is evicted first.
//
// Ownership: owns its decoders, which borrow their streams: a stream calls drop() before it is destroyed.
// Threads:   every function may be called concurrently.
// Cost:      a look-up is logarithmic in the number of decoders.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "unstarve/storage/bytes/stream_decoder.h"

namespace unstarve {

// 40 decoders of Zstandard at its default level (2 MiB of window, kZstdHistory), or 2,000 of gzip.
inline constexpr std::size_t kDecoderCacheBytes = std::size_t{256} << 20;

class DecoderCache {
 public:
  explicit DecoderCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Removes and returns the decoder of `stream` with the least work for a read at `offset`: one whose history contains
  // that output, else the nearest one in [from, offset]; null if there is none.
  [[nodiscard]] std::unique_ptr<StreamDecoder> take(const void* stream, std::uint64_t from, std::uint64_t offset);
  void give(const void* stream, std::unique_ptr<StreamDecoder> decoder);
  void drop(const void* stream);
  [[nodiscard]] std::size_t memory_bytes() const;

  // The cache of the process, of kDecoderCacheBytes.
  [[nodiscard]] static DecoderCache& of_process();

 private:
  using Key = std::pair<const void*, std::uint64_t>;  // stream, position
  struct Entry;
  using Table = std::multimap<Key, Entry>;
  struct Entry {
    std::unique_ptr<StreamDecoder> decoder;
    std::size_t bytes;
    std::list<Table::iterator>::iterator age;
  };

  std::unique_ptr<StreamDecoder> remove(Table::iterator entry);

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  Table table_;
  std::list<Table::iterator> ages_;  // least recently used first
  std::size_t bytes_ = 0;
};

}  // namespace unstarve
