#pragma once
// Decoders that reads have left behind, for the reads that go on there: all compressed streams of the process share one
// budget of memory, and the decoder that was left longest ago goes first.
//
// Ownership: owns the decoders given to it, which borrow their streams: a stream drops its own before it ends.
// Threads:   every function from any thread.
// Cost:      a look-up is logarithmic in the number of decoders kept.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "unstarve/storage/bytes/stream_decoder.h"

namespace unstarve {

// 40 decoders of Zstandard at its usual level (2 MiB of window, kZstdHistory), or 2,000 of gzip.
inline constexpr std::size_t kKeptDecoderBytes = std::size_t{256} << 20;

class DecoderCache {
 public:
  explicit DecoderCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // The decoder of `stream` that has least to do for a read at `offset`: one that remembers that output, else the one
  // that is nearest before it but not before `from`; null without one.
  [[nodiscard]] std::unique_ptr<StreamDecoder> take(const void* stream, std::uint64_t from, std::uint64_t offset);
  void give(const void* stream, std::unique_ptr<StreamDecoder> decoder);
  void drop(const void* stream);
  [[nodiscard]] std::size_t kept_bytes() const;

  // The one that serves the process, of kKeptDecoderBytes.
  [[nodiscard]] static DecoderCache& of_process();

 private:
  using Key = std::pair<const void*, std::uint64_t>;  // stream, position
  struct Kept;
  using Table = std::multimap<Key, Kept>;
  struct Kept {
    std::unique_ptr<StreamDecoder> decoder;
    std::size_t bytes;
    std::list<Table::iterator>::iterator age;
  };

  std::unique_ptr<StreamDecoder> remove(Table::iterator place);

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  Table table_;
  std::list<Table::iterator> ages_;  // the one left longest ago first
  std::size_t bytes_ = 0;
};

}  // namespace unstarve
