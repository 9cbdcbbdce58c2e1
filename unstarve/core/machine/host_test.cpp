#include "unstarve/core/machine/host.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("folders of this host are not on a network") {
  CHECK_FALSE(host_name().empty());
  CHECK_FALSE(is_on_network("/proc"));
  CHECK_FALSE(is_on_network("/dev/shm/no/such/folder"));
  CHECK_FALSE(is_on_network(""));
}

}  // namespace
}  // namespace unstarve
