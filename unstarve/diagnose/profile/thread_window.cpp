#include "unstarve/diagnose/profile/thread_window.h"

namespace unstarve {

const char* to_string(ThreadState state) noexcept {
  switch (state) {
    case ThreadState::kRunning: return "on a CPU";
    case ThreadState::kRunnable: return "waits for a CPU";
    case ThreadState::kLock: return "waits for a thread";
    case ThreadState::kFile: return "waits for a file";
    case ThreadState::kPipe: return "waits for a pipe";
    case ThreadState::kNetwork: return "waits for the network";
    case ThreadState::kEvents: return "waits for events";
    case ThreadState::kSleep: return "sleeps";
    case ThreadState::kWaiting: break;
  }
  return "waits";
}

}  // namespace unstarve
