#pragma once
// Concurrent reads of local files: many requests are queued, so the disk is never idle.
//
//   io_uring    one system call for a batch; used if the kernel and the container allow it
//   pread pool  one thread per read in flight; works everywhere
//
// Threads:   one at a time per reader. Failure: each read has its own result. open_batch_reader() throws
//            Error(kMissing) if io_uring is requested but not available, Error(kArgument) for a depth outside of
//            1 .. 1024.
// Cost:      io_uring: no thread, one ring entry per read; pool: `depth` threads that sleep between batches.

#include <cstdint>
#include <memory>
#include <span>

namespace unstarve {

struct FileRead {
  int descriptor = -1;
  std::uint64_t offset = 0;
  std::span<std::uint8_t> out;
  // Bytes read, fewer than requested only at the end of the file; or a negative errno.
  std::int64_t result = 0;
};

enum class BatchReaderKind {
  kBest,  // io_uring, or the pool if io_uring is not available; see name()
  kUring,
  kThreads,
};

class BatchReader {
 public:
  virtual ~BatchReader() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  // Runs all reads, at most `depth` at a time, and returns when the last has its result.
  virtual void read(std::span<FileRead> reads) = 0;
};

[[nodiscard]] std::unique_ptr<BatchReader> open_batch_reader(BatchReaderKind kind, int depth);

// The errno of io_uring_setup(2) in this process; 0 if io_uring is available. One system call per call.
[[nodiscard]] int uring_error() noexcept;

// The calling thread's own reader of kind kBest, created at its first use (in a fork of the process, too), with
// kThreadReads in flight: as many as each read-ahead thread of the loader requests by default, since a pool has one
// thread per read.
inline constexpr int kThreadReads = 4;
[[nodiscard]] BatchReader& thread_batch_reader();

}  // namespace unstarve
