#include "unstarve/torch/common/guards.h"

#include <catch2/catch.hpp>

#include <stdexcept>

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

TEST_CASE("a message of Gloo does not contain its source file") {
  const auto message_of = [](const char* what) -> std::string {
    try {
      translate_errors("training step", [&] { throw std::runtime_error(what); });
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kIo);
      return error.what();
    }
    return "nothing was thrown";
  };
  CHECK(message_of("[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer "
                   "[127.0.0.1]:26453") == "training step: Connection closed by peer [127.0.0.1]:26453");
  CHECK(message_of("Gloo connectFullMesh failed with [../gloo/transport/tcp/device.cc:12] no device") ==
        "training step: Gloo connectFullMesh failed with no device");
  CHECK(message_of("tensor [2, 3] [a.jpg:1]") == "training step: tensor [2, 3] [a.jpg:1]");
}

}  // namespace
}  // namespace unstarve
