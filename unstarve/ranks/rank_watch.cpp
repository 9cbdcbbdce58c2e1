#include "unstarve/ranks/rank_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// Closed if the process has ended.
FileDescriptor open_process(int process) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0 && errno != ESRCH) throw io_error("watch", "process " + std::to_string(process), errno);
  return FileDescriptor(descriptor);
}

}  // namespace

RankWatch::RankWatch(std::span<const int> processes, std::function<void(const std::vector<std::size_t>&)> lost)
    : lost_(std::move(lost)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (stop_.get() < 0) throw io_error("create", "eventfd", errno);
  for (const int process : processes) processes_.push_back(open_process(process));
  thread_ = std::thread([this] { watch(); });
}

RankWatch::~RankWatch() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void RankWatch::watch() {
  std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}};
  std::vector<std::size_t> ended;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].get() < 0) ended.push_back(i);
    polled.push_back({processes_[i].get(), POLLIN, 0});  // poll() ignores negative ones
  }
  while (ended.empty()) {
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) continue;
    if (polled[0].revents != 0) return;
    for (std::size_t i = 0; i < processes_.size(); ++i)
      if (polled[i + 1].revents != 0) ended.push_back(i);
  }
  lost_(ended);
}

}  // namespace unstarve
