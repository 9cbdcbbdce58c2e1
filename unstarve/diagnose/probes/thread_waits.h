#pragma once
// What a thread waits for, from the system call in which it is.
//
// Threads: pure functions.

#include <string_view>

#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

enum class Wait {
  kNone,  // it runs, or can run
  kLock,
  kMutex,  // of C: pthread_mutex_lock(), std::mutex
  kFile,   // it reads or opens one
  kFlush,  // it writes, flushes, renames or removes one
  kPipe,   // for another process: pipes, terminals, sockets of AF_UNIX
  kNetwork,
  kEvents,
  kSleep,
  kOther,
};

// Whether `wait_of` requires what the descriptor `call.argument` refers to.
[[nodiscard]] bool has_descriptor(const SystemCall& call);

// Whether it reads from a descriptor.
[[nodiscard]] bool is_read(const SystemCall& call);

// `target`: what DescriptorTarget reads; "" if unknown.
[[nodiscard]] Wait wait_of(const SystemCall& call, std::string_view target);

// Adds `seconds` to the member for `wait`, or to none.
void add_wait(ThreadWaits& waits, Wait wait, double seconds);

}  // namespace unstarve
