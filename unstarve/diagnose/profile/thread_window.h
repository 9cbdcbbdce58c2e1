#pragma once
// What the threads of a watched program did in a few consecutive steps, sampled every few milliseconds, as plain data.
// A part of RunProfile, with its version. Times are seconds.
//
//   steps         |---------------|---------------|---------------|     `steps`: when they begin
//   main thread   ####....####....####...=####....####....####....      # on a CPU, . waits, = ready to run
//   worker 4712   ########=#######....####=################.......
//
// Of each interval of `resolution_s`, a thread has the state in which it was for the longest part.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"

namespace unstarve {

enum class ThreadState {
  kRunning,
  kRunnable,  // ready to run, without a CPU
  kLock,      // waits for another thread
  kFile,      // reads, writes or flushes files
  kPipe,      // waits for another process
  kNetwork,
  kEvents,  // poll, epoll, select
  kSleep,
  kWaiting,  // for something else, or in a process of another user
};
template <>
inline constexpr std::array<std::string_view, 9> kWords<ThreadState>{
    "on a CPU",         "waits for a CPU",  "waits for a thread",
    "waits for a file", "waits for a pipe", "waits for the network",
    "waits for events", "sleeps",           "waits"};
inline constexpr std::size_t kThreadStates = words_of<ThreadState>().size();

struct ThreadSpan {
  int lane = 0;  // index of ThreadWindow::lanes
  ThreadState state = ThreadState::kWaiting;
  double begin_s = 0;  // since the begin of the window
  double seconds = 0;
};

struct ThreadWindow {
  double begin_s = 0;  // since the begin of watching
  double seconds = 0;
  double resolution_s = 0;         // of the times of spans
  std::string step_source;         // how steps are known; empty: they are not
  std::vector<double> steps;       // when they begin, since the begin of the window
  std::vector<std::string> lanes;  // "main thread 4711 python", "worker 4713 python", "thread 4715 torch"
  std::vector<ThreadSpan> spans;   // by lane, then by begin, disjoint; at most kMostThreadSpans; empty: no window
};
inline constexpr std::size_t kMostThreadSpans = 2000;

}  // namespace unstarve
