#include "unstarve/storage/io/batch_reader.h"

#include <liburing.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "unstarve/core/file_transfer.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/process/per_process.h"

namespace unstarve {
namespace {

void read_fully(FileRead& read) {
  const Transfer got = read_at(read.descriptor, read.offset, read.out);
  read.result = got.error != 0 ? -std::int64_t{got.error} : static_cast<std::int64_t>(got.bytes);
}

// For requests that a broken ring has taken.
constexpr std::chrono::seconds kLongestWait{60};

class UringReader final : public BatchReader {
 public:
  explicit UringReader(int depth) : depth_(static_cast<std::size_t>(depth)) {
    const int error = ::io_uring_queue_init(static_cast<unsigned>(depth), &ring_, 0);
    if (error < 0) {
      throw missing_error("io_uring: the kernel or the container does not permit it: {}", std::strerror(-error));
    }
  }
  ~UringReader() override { ::io_uring_queue_exit(&ring_); }
  UringReader(const UringReader&) = delete;
  UringReader& operator=(const UringReader&) = delete;

  [[nodiscard]] const char* name() const noexcept override { return "io_uring"; }

  void read(std::span<FileRead> reads) override {
    for (FileRead& read : reads) read.result = 0;
    std::size_t started = 0;
    std::size_t in_flight = 0;
    unfinished_.assign(reads.size(), true);
    reads_ = reads.data();
    while (!broken_ && (started < reads.size() || in_flight > 0)) {
      while (started < reads.size() && in_flight < depth_) {
        if (!queue(reads[started])) break;
        ++started;
        ++in_flight;
      }
      const int submitted = ::io_uring_submit_and_wait(&ring_, 1);
      if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) broken_ = true;
      in_flight -= take_finished();
    }
    if (!broken_) return;
    // Requests that the kernel has taken write to the caller's memory until they finish; the others are not submitted
    // any more.
    const auto limit = std::chrono::steady_clock::now() + kLongestWait;
    while (in_flight > ::io_uring_sq_ready(&ring_) && std::chrono::steady_clock::now() < limit) {
      in_flight -= take_finished();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    const bool lost = in_flight > ::io_uring_sq_ready(&ring_);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (!unfinished_[i]) continue;
      if (lost) {
        reads[i].result = -ETIMEDOUT;
      } else {
        read_fully(reads[i]);
      }
    }
  }

 private:
  // Returns the number of reads that have finished.
  std::size_t take_finished() {
    std::size_t count = 0;
    io_uring_cqe* done = nullptr;
    while (::io_uring_peek_cqe(&ring_, &done) == 0) {
      FileRead& read = *static_cast<FileRead*>(::io_uring_cqe_get_data(done));
      const int result = done->res;
      ::io_uring_cqe_seen(&ring_, done);
      if (!finished(read, result)) {
        if (queue(read)) continue;
        read.result = -EBUSY;
      }
      unfinished_[static_cast<std::size_t>(&read - reads_)] = false;
      ++count;
    }
    return count;
  }

  bool queue(FileRead& read) {
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    if (entry == nullptr) return false;
    const auto done = static_cast<std::size_t>(read.result);
    ::io_uring_prep_read(entry, read.descriptor, read.out.data() + done, static_cast<unsigned>(read.out.size() - done),
                         read.offset + done);
    ::io_uring_sqe_set_data(entry, &read);
    return true;
  }

  // Adds the result of one request; false if the rest must be requested again.
  static bool finished(FileRead& read, int result) {
    if (result == -EINTR || result == -EAGAIN) return false;
    if (result < 0) {
      read.result = result;
      return true;
    }
    read.result += result;
    return result == 0 || static_cast<std::size_t>(read.result) == read.out.size();
  }

  const std::size_t depth_;
  io_uring ring_{};
  // The kernel no longer takes requests, for example because the program closed the descriptor of the ring. All reads
  // are made by pread then; the queue of the ring refers to memory of earlier reads.
  bool broken_ = false;
  std::vector<bool> unfinished_;  // of the present reads, those that have not finished
  const FileRead* reads_ = nullptr;
};

class ThreadReader final : public BatchReader {
 public:
  explicit ThreadReader(int depth) {
    try {
      for (int i = 0; i < depth; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      close();  // threads that run are joined before the other members are destroyed
      throw memory_error("start a reader thread: {}", error.what());
    }
  }
  ~ThreadReader() override { close(); }

  [[nodiscard]] const char* name() const noexcept override { return "pread pool"; }

  void read(std::span<FileRead> reads) override {
    if (reads.empty()) return;
    std::unique_lock lock(mutex_);
    reads_ = reads;
    next_ = 0;
    left_ = reads.size();
    wake_.notify_all();
    done_.wait(lock, [this] { return left_ == 0; });
    reads_ = {};
  }

 private:
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_all();
  }

  void work() {
    pthread_setname_np(pthread_self(), "unstarve-read");
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return closed_ || next_ < reads_.size(); });
      if (closed_) return;
      FileRead& read = reads_[next_++];
      lock.unlock();
      read_fully(read);
      lock.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::span<FileRead> reads_;
  std::size_t next_ = 0;
  std::size_t left_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> threads_;  // last: joined before other members are destroyed
};

}  // namespace

std::unique_ptr<BatchReader> open_batch_reader(BatchReaderKind kind, int depth) {
  if (depth < 1 || depth > 1024) {
    throw argument_error("reads in flight: {}; expected 1 to 1024", depth);
  }
  if (kind == BatchReaderKind::kThreads) return std::make_unique<ThreadReader>(depth);
  try {
    return std::make_unique<UringReader>(depth);
  } catch (const Error&) {
    if (kind == BatchReaderKind::kUring) throw;
  }
  return std::make_unique<ThreadReader>(depth);
}

int uring_error() noexcept {
  io_uring ring{};
  const int error = ::io_uring_queue_init(1, &ring, 0);
  if (error == 0) ::io_uring_queue_exit(&ring);
  return -error;
}

BatchReader& thread_batch_reader() {
  thread_local const PerProcess<BatchReader> reader(
      [] { return open_batch_reader(BatchReaderKind::kBest, kThreadReads); });
  return reader.get();
}

}  // namespace unstarve
