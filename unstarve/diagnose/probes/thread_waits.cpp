#include "unstarve/diagnose/probes/thread_waits.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <initializer_list>

namespace unstarve {
namespace {

bool is_one_of(std::int64_t call, std::initializer_list<long> calls) {
  return std::ranges::find(calls, call) != calls.end();
}

// glibc waits for mutexes by these operations, and for conditions and semaphores by FUTEX_WAIT_BITSET.
bool waits_for_mutex(const SystemCall& futex) {
  const int operation = static_cast<int>(futex.second) & FUTEX_CMD_MASK;
  return operation == FUTEX_WAIT || operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
}

bool is_write(const SystemCall& call) {
  return is_one_of(call.number, {SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2});
}

bool is_of_socket(const SystemCall& call) {
  return is_one_of(call.number,
                   {SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_connect, SYS_accept, SYS_accept4});
}

}  // namespace

bool is_read(const SystemCall& call) {
  return is_one_of(call.number, {SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_preadv2});
}

bool has_descriptor(const SystemCall& call) {
  return is_read(call) || is_write(call) || is_of_socket(call) || is_one_of(call.number, {SYS_sendfile, SYS_splice});
}

Wait wait_of(const SystemCall& call, std::string_view target) {
  if (call.number == SystemCall::kNone) return Wait::kNone;
  if (has_descriptor(call)) {
    if (target.starts_with("pipe:") || target.starts_with("unix:") || target.starts_with("/dev/pts/"))
      return Wait::kPipe;
    if (target.starts_with("socket:") || is_of_socket(call)) return Wait::kNetwork;
    if (target.starts_with("anon_inode:")) return Wait::kEvents;
    if (target.empty()) return Wait::kOther;
    return is_write(call) ? Wait::kFlush : Wait::kFile;
  }
  switch (call.number) {
    case SYS_futex: return waits_for_mutex(call) ? Wait::kMutex : Wait::kLock;
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync_file_range:
    case SYS_syncfs:
    case SYS_msync:
    case SYS_unlinkat:
    case SYS_renameat2:
    case SYS_ftruncate:
    case SYS_fallocate: return Wait::kFlush;
    case SYS_nanosleep:
    case SYS_clock_nanosleep: return Wait::kSleep;
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_fstat:
    case SYS_statx:
    case SYS_getdents64:
    case SYS_io_getevents: return Wait::kFile;
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait: return Wait::kEvents;
    default: break;
  }
#ifdef SYS_poll  // older calls, which 64-bit ARM does not have
  if (is_one_of(call.number, {SYS_poll, SYS_select, SYS_epoll_wait})) return Wait::kEvents;
  if (is_one_of(call.number, {SYS_open, SYS_stat, SYS_lstat})) return Wait::kFile;
  if (is_one_of(call.number, {SYS_rename, SYS_unlink})) return Wait::kFlush;
#endif
  return Wait::kOther;
}

void add_wait(ThreadWaits& waits, Wait wait, double seconds) {
  switch (wait) {
    case Wait::kNone: return;
    case Wait::kMutex: waits.mutex_s += seconds; [[fallthrough]];
    case Wait::kLock: waits.lock_s += seconds; return;
    case Wait::kFile: waits.file_s += seconds; return;
    case Wait::kFlush: waits.flush_s += seconds; return;
    case Wait::kPipe: waits.pipe_s += seconds; return;
    case Wait::kNetwork: waits.network_s += seconds; return;
    case Wait::kEvents: waits.events_s += seconds; return;
    case Wait::kSleep: waits.sleep_s += seconds; return;
    case Wait::kOther: waits.other_s += seconds; return;
  }
}

}  // namespace unstarve
