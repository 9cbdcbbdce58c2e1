#pragma once
// Notices that another process has ended, for example because it was killed.
//
// Under MPI nothing else does: a rank waits in a collective until the launcher ends it.
//
//   pidfd of each process ──poll──▶ a thread ──▶ `lost`, once
//
// Threads:   `lost` is called by the thread of the watch. The destructor waits for it.
// Failure:   Error(kIo) if the system cannot watch processes (Linux before 5.3).

#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "unstarve/core/file_descriptor.h"

namespace unstarve {

class RankWatch {
 public:
  // `lost` receives the indices in `processes` of those that have ended, also before, in order.
  RankWatch(std::span<const int> processes, std::function<void(const std::vector<std::size_t>& ended)> lost);
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

 private:
  void watch();

  std::vector<FileDescriptor> processes_;  // not valid: ended before
  std::function<void(const std::vector<std::size_t>&)> lost_;
  FileDescriptor stop_;
  std::thread thread_;
};

}  // namespace unstarve
