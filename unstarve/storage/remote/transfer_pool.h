#pragma once
// Runs any number of transfers over shared connections and reuses the idle ones.
//
// Ownership: owns libcurl's multi handle and the idle transfers; the caller owns a transfer from start() to end().
//            Borrows the options. All transfers must have ended before the pool is destroyed.
// Threads:   wake() and the counters by any thread, the others by the engine's thread.
// Failure:   Error(kMemory) or Error(kInternal) if libcurl fails.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/storage/remote/transfer.h"

namespace unstarve::remote {

class TransferPool {
 public:
  explicit TransferPool(const RemoteOptions& options);
  ~TransferPool();
  TransferPool(const TransferPool&) = delete;
  TransferPool& operator=(const TransferPool&) = delete;

  // Starts a transfer with the arguments of Transfer::start(), which may throw.
  [[nodiscard]] std::unique_ptr<Transfer> start(Fetch& fetch, std::uint64_t done, bool separate,
                                                std::chrono::milliseconds time_left);
  // Takes back a transfer in any state, or null.
  void end(std::unique_ptr<Transfer>& transfer);
  // Removes a transfer from the pool, after which it can only be destroyed.
  void abandon(const Transfer& transfer) noexcept { curl_multi_remove_handle(multi_, transfer.easy()); }

  struct Completed {
    CURL* easy;
    CURLcode code;
  };
  // Sends and receives without waiting. Returns the transfers that have completed.
  [[nodiscard]] std::vector<Completed> perform();
  // Waits for the network, for wake() or for at most `longest_ms` milliseconds.
  void wait(int longest_ms);
  void wake() { curl_multi_wakeup(multi_); }

  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] std::uint64_t connections() const { return connections_; }  // opened
  [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }

 private:
  const RemoteOptions& options_;
  CURLM* multi_;
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::atomic<std::uint64_t> requests_{0}, connections_{0}, received_bytes_{0};
};

}  // namespace unstarve::remote
