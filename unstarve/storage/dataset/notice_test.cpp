#include "unstarve/storage/dataset/notice.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace unstarve {
namespace {

TEST_CASE("notices go to the current sink, one at a time, and are dropped without a sink") {
  emit_notice("no sink");
  std::vector<std::string> received;
  set_notice_sink([&](const std::string& text) { received.push_back(text); });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int k = 0; k < 100; ++k) emit_notice("x");
      });
    }
  }
  CHECK(received == std::vector<std::string>(400, "x"));
  set_notice_sink({});
  emit_notice("late");
  CHECK(received.size() == 400);
}

}  // namespace
}  // namespace unstarve
