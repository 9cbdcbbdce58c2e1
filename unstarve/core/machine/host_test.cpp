#include "unstarve/core/machine/host.h"

#include <linux/magic.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <initializer_list>

namespace unstarve {
namespace {

using Types = std::initializer_list<std::uint32_t>;

TEST_CASE("folders of this host are not on a network") {
  CHECK_FALSE(host_name().empty());
  CHECK_FALSE(is_on_network("/proc"));
  CHECK_FALSE(is_on_network("/dev/shm/no/such/folder"));
  CHECK_FALSE(is_on_network(""));
}

TEST_CASE("file systems that several hosts can mount are on a network") {
  for (const std::uint32_t type : Types{NFS_SUPER_MAGIC, CIFS_SUPER_MAGIC, FUSE_SUPER_MAGIC, 0x0BD00BD0 /* Lustre */})
    CHECK(is_network(type));
  for (const std::uint32_t type : Types{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC})
    CHECK_FALSE(is_network(type));
}

}  // namespace
}  // namespace unstarve
