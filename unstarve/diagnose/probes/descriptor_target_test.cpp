#include "unstarve/diagnose/probes/descriptor_target.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

namespace unstarve {
namespace {

using Catch::StartsWith;

TEST_CASE("sockets between processes are not those of a network") {
  std::array<int, 2> pair{}, pipe_ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  REQUIRE(pipe2(pipe_ends.data(), O_CLOEXEC) == 0);
  const int datagrams = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), network = socket(AF_INET, SOCK_STREAM, 0),
            file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const auto link = [](int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); };
  DescriptorTarget target;
  for (int round = 0; round < 2; ++round) {
    CHECK_THAT(target.read(link(pair[0])), StartsWith("unix:["));
    CHECK(target.read(link(pair[0])) == target.read(link(pair[0])));
    CHECK(target.read(link(pair[0])) != target.read(link(pair[1])));
    CHECK_THAT(target.read(link(datagrams)), StartsWith("unix:["));
    CHECK_THAT(target.read(link(network)), StartsWith("socket:["));
    CHECK_THAT(target.read(link(pipe_ends[0])), StartsWith("pipe:["));
    CHECK(target.read(link(file)) == "/dev/null");
  }
  for (const int descriptor : {pair[0], pair[1], pipe_ends[0], pipe_ends[1], datagrams, network, file})
    close(descriptor);
  CHECK(target.read(link(network)).empty());
}

}  // namespace
}  // namespace unstarve
