#include "unstarve/diagnose/probes/thread_waits.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("what a system call waits for") {
  CHECK(wait_of({SystemCall::kNone, 0}, "") == Wait::kNone);
  CHECK(wait_of({SYS_futex, 0, FUTEX_WAIT_BITSET_PRIVATE}, "") == Wait::kLock);
  CHECK(wait_of({SYS_futex, 0, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME}, "") == Wait::kLock);
  CHECK(wait_of({SYS_futex, 0, FUTEX_WAIT_PRIVATE}, "") == Wait::kMutex);
  CHECK(wait_of({SYS_futex, 0, FUTEX_LOCK_PI_PRIVATE}, "") == Wait::kMutex);
  CHECK(wait_of({SYS_fsync, 3}, "") == Wait::kFlush);
  CHECK(wait_of({SYS_clock_nanosleep, 0}, "") == Wait::kSleep);
  for (const long call : {SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_accept4}) {
    CHECK(has_descriptor({call, 5}));
    CHECK(wait_of({call, 5}, "") == Wait::kNetwork);
    CHECK(wait_of({call, 5}, "socket:[12]") == Wait::kNetwork);
    CHECK(wait_of({call, 5}, "unix:[12]") == Wait::kPipe);
  }
  CHECK(wait_of({SYS_wait4, 0}, "") == Wait::kOther);
  for (const long call : {SYS_read, SYS_pread64, SYS_write}) {
    const SystemCall on_descriptor{call, 4};
    CHECK(has_descriptor(on_descriptor));
    CHECK(wait_of(on_descriptor, "socket:[12]") == Wait::kNetwork);
    CHECK(wait_of(on_descriptor, "pipe:[34]") == Wait::kPipe);
    CHECK(wait_of(on_descriptor, "unix:[12]") == Wait::kPipe);
    CHECK(wait_of(on_descriptor, "/data/photo.jpg") == (call == SYS_write ? Wait::kFlush : Wait::kFile));
    CHECK(wait_of(on_descriptor, "anon_inode:[eventfd]") == Wait::kEvents);
    CHECK(wait_of(on_descriptor, "") == Wait::kOther);
  }
  for (const long call : {SYS_pwrite64, SYS_writev, SYS_ftruncate, SYS_renameat2})
    CHECK(wait_of({call, 4}, "/logs/events") == Wait::kFlush);
  CHECK_FALSE(has_descriptor({SYS_futex, 4}));
  CHECK(is_read({SYS_pread64, 4}));
  CHECK_FALSE(is_read({SYS_write, 4}));
}

TEST_CASE("times of waits are added to their own members") {
  ThreadWaits waits;
  add_wait(waits, Wait::kNone, 100);
  add_wait(waits, Wait::kLock, 1);
  add_wait(waits, Wait::kFile, 2);
  add_wait(waits, Wait::kFlush, 3);
  add_wait(waits, Wait::kPipe, 4);
  add_wait(waits, Wait::kNetwork, 5);
  add_wait(waits, Wait::kEvents, 6);
  add_wait(waits, Wait::kSleep, 7);
  add_wait(waits, Wait::kOther, 8);
  CHECK(waits.lock_s == 1);
  CHECK(waits.mutex_s == 0);
  CHECK(waits.file_s == 2);
  CHECK(waits.flush_s == 3);
  CHECK(waits.pipe_s == 4);
  CHECK(waits.network_s == 5);
  CHECK(waits.events_s == 6);
  CHECK(waits.sleep_s == 7);
  CHECK(waits.other_s == 8);
  add_wait(waits, Wait::kMutex, 9);
  CHECK(waits.lock_s == 10);
  CHECK(waits.mutex_s == 9);
}

}  // namespace
}  // namespace unstarve
