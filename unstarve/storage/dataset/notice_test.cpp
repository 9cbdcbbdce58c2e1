#include "unstarve/storage/dataset/notice.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace unstarve {
namespace {

TEST_CASE("notices go to the sink of the moment, one at a time, and are dropped without one") {
  emit_notice("nobody listens");
  std::vector<std::string> told;
  set_notice_sink([&](const std::string& text) { told.push_back(text); });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int k = 0; k < 100; ++k) emit_notice("x");
      });
    }
  }
  CHECK(told == std::vector<std::string>(400, "x"));
  set_notice_sink({});
  emit_notice("late");
  CHECK(told.size() == 400);
}

}  // namespace
}  // namespace unstarve
