#pragma once
// Many reads of local files at once, so that a disk has work queued while the processor waits for none of them.
//
//   io_uring    one system call for a batch; used where the kernel and the container allow it
//   pread pool  as many threads as reads are to be in flight; everywhere
//
// Threads:   one at a time per reader. Failure: each read has its own result; making a reader by kind throws
//            Error(kMissing) when the kernel refuses io_uring, and Error(kArgument) for a depth outside of 1 .. 1024.
// Cost:      io_uring: no thread, one entry of a ring per read; pool: `depth` threads that sleep between batches.

#include <cstdint>
#include <memory>
#include <span>

namespace unstarve {

struct FileRead {
  int descriptor = -1;
  std::uint64_t offset = 0;
  std::span<std::uint8_t> out;
  // Bytes read, fewer than asked for only at the file's end; or a negative errno.
  std::int64_t result = 0;
};

enum class BatchReaderKind {
  kBest,  // io_uring, or the pool where it is refused; name() tells which it is
  kUring,
  kThreads,
};

class BatchReader {
 public:
  virtual ~BatchReader() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  // Runs all reads, at most the reader's depth of them at a time; returns when the last has its result.
  virtual void read(std::span<FileRead> reads) = 0;
};

[[nodiscard]] std::unique_ptr<BatchReader> open_batch_reader(BatchReaderKind kind, int depth);

// The error that the kernel refuses this process io_uring with (io_uring_setup(2)); 0 where it gives it. Asks anew each
// time.
[[nodiscard]] int uring_refusal() noexcept;

// The calling thread's own reader of the best kind, made at its first use, with kThreadReads in flight: as many as the
// loader's read-ahead asks of each of its threads, since a pool has a thread for each.
inline constexpr int kThreadReads = 4;
[[nodiscard]] BatchReader& thread_batch_reader();

}  // namespace unstarve
