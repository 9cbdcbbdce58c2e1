#include "unstarve/storage/formats/folder/folder_stamp.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/thread_pool.h"

namespace unstarve {
namespace {

constexpr std::int64_t kCoarsestClockNs = 2'000'000'000;  // FAT: see the header
constexpr int kMaxThreads = 8;
constexpr std::size_t kStatsPerTask = 128;  // about 100 us of work if all inodes are cached

// File systems that update the times of a folder on every change of its entries, from any client. The numbers of
// Lustre, GPFS and ZFS are not in <linux/magic.h>.
constexpr std::array<std::uint32_t, 19> kReliableTimes = {
    EXT4_SUPER_MAGIC,     XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
    NILFS_SUPER_MAGIC,    TMPFS_MAGIC,      RAMFS_MAGIC,       OVERLAYFS_SUPER_MAGIC,
    ECRYPTFS_SUPER_MAGIC, SQUASHFS_MAGIC,   ISOFS_SUPER_MAGIC, MSDOS_SUPER_MAGIC,
    NFS_SUPER_MAGIC,      CEPH_SUPER_MAGIC, OCFS2_SUPER_MAGIC, V9FS_MAGIC,
    0x0BD00BD0,           0x47504653,       0x2FC12FC1,
};

FolderStamp stamp_from(const struct stat& status) noexcept {
  const auto ns = [](const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(time.tv_nsec);
  };
  return {status.st_dev, status.st_ino, ns(status.st_mtim), ns(status.st_ctim),
          static_cast<std::uint64_t>(status.st_size)};
}

std::optional<FolderStamp> stamp_at(int root, const std::string& path) noexcept {
  struct stat status {};
  if (::fstatat(root, path.c_str(), &status, path.empty() ? AT_EMPTY_PATH : 0) != 0) return std::nullopt;
  if (!S_ISDIR(status.st_mode)) return std::nullopt;
  return stamp_from(status);
}

bool has_reliable_times(int root, const std::string& path) {
  const FileDescriptor folder(::openat(root, path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs system {};
  if (!folder.valid() || ::fstatfs(folder.get(), &system) != 0) return false;
  const auto magic = static_cast<std::uint32_t>(system.f_type);
  return std::find(kReliableTimes.begin(), kReliableTimes.end(), magic) != kReliableTimes.end();
}

// Whether holds(i) is true for all i in [0, count); stops at the first false.
bool all_hold(std::size_t count, const std::function<bool(std::size_t)>& holds) {
  std::atomic<bool> good = true;
  const auto task = [&](std::size_t begin) {
    const std::size_t end = std::min(begin + kStatsPerTask, count);
    for (std::size_t i = begin; i < end && good.load(std::memory_order_relaxed); ++i) {
      if (!holds(i)) good.store(false, std::memory_order_relaxed);
    }
  };
  const std::size_t tasks = (count + kStatsPerTask - 1) / kStatsPerTask;
  const int threads = std::min(threads_up_to(kMaxThreads), static_cast<int>(tasks));
  if (threads < 2) {
    for (std::size_t begin = 0; begin < count; begin += kStatsPerTask) task(begin);
  } else {
    ThreadPool pool(threads);
    for (std::size_t begin = 0; begin < count; begin += kStatsPerTask) pool.submit([&task, begin] { task(begin); });
    pool.wait();
  }
  return good;
}

}  // namespace

FolderStamp stamp_of(const FileDescriptor& folder, const std::string& shown) {
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) throw io_error("stat folder", shown, errno);
  return stamp_from(status);
}

bool can_be_cached(int root, std::span<const SeenFolder> folders, std::int64_t began_ns) {
  std::map<std::uint64_t, bool> devices;  // device to has_reliable_times()
  return std::all_of(folders.begin(), folders.end(), [&](const SeenFolder& folder) {
    const std::int64_t last = std::max(folder.stamp.modified_ns, folder.stamp.changed_ns);
    if (folder.stamp.modified_ns <= 0 || folder.stamp.changed_ns <= 0 || last >= began_ns - kCoarsestClockNs)
      return false;
    const auto known = devices.find(folder.stamp.device);
    if (known != devices.end()) return known->second;
    return devices[folder.stamp.device] = has_reliable_times(root, folder.path);
  });
}

bool unchanged(int root, std::span<const SeenFolder> folders, std::span<const SeenLink> links) {
  std::vector<std::uint64_t> devices(folders.size());
  const bool same = all_hold(folders.size(), [&](std::size_t i) {
    const std::optional<FolderStamp> now = stamp_at(root, folders[i].path);
    if (!now) return false;
    devices[i] = now->device;
    FolderStamp expected = folders[i].stamp;
    expected.device = now->device;
    return *now == expected;
  });
  if (!same) return false;
  std::map<std::uint64_t, std::uint64_t> then_of, now_of;  // old and new device numbers must map one to one
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (then_of.emplace(devices[i], folders[i].stamp.device).first->second != folders[i].stamp.device) return false;
    if (now_of.emplace(folders[i].stamp.device, devices[i]).first->second != devices[i]) return false;
  }
  return all_hold(links.size(),
                  [&](std::size_t i) { return entry_kind(root, links[i].path.c_str()) == links[i].kind; });
}

}  // namespace unstarve
