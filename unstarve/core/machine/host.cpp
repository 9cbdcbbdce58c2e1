#include "unstarve/core/machine/host.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <system_error>

namespace unstarve {
namespace {

// f_type of statfs(2). The numbers: Lustre, GPFS, BeeGFS.
constexpr std::array<std::uint32_t, 10> kNetwork = {
    NFS_SUPER_MAGIC, SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC,
    V9FS_MAGIC,      FUSE_SUPER_MAGIC, 0x0BD00BD0,       0x47504653,       0x19830326};

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

bool is_on_network(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::path known = std::filesystem::absolute(folder, failed);
  while (!std::filesystem::exists(known, failed) && known.has_relative_path()) known = known.parent_path();
  struct statfs system {};
  if (::statfs(known.c_str(), &system) != 0) return false;
  return is_network(static_cast<std::uint32_t>(system.f_type));
}

bool is_network(std::uint32_t type) noexcept { return std::ranges::find(kNetwork, type) != kNetwork.end(); }

}  // namespace unstarve
