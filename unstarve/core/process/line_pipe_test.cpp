#include "unstarve/core/process/line_pipe.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

// Two ends that are connected to each other.
struct Ends {
  Ends() {
    Pipe to, from;
    here.emplace(std::move(from.reading), std::move(to.writing));
    there.emplace(std::move(to.reading), std::move(from.writing));
  }
  std::optional<LinePipe> here, there;
};

}  // namespace

TEST_CASE("lines arrive in order and as they were written") {
  Ends ends;
  std::string line;
  for (const char* const text : {"first", "", "a longer line with \t and \x01"}) REQUIRE(ends.here->write(text));
  for (const char* const text : {"first", "", "a longer line with \t and \x01"}) {
    REQUIRE(ends.there->read(line));
    CHECK(line == text);
  }
  REQUIRE(ends.there->write("answer"));
  REQUIRE(ends.here->read(line));
  CHECK(line == "answer");
}

TEST_CASE("a read and a write report that the other end is closed, without a signal") {
  Ends ends;
  REQUIRE(ends.there->write("last"));
  ends.there.reset();
  std::string line;
  CHECK(ends.here->read(line));
  CHECK_FALSE(ends.here->read(line));
  CHECK_FALSE(ends.here->write("nobody reads this"));
}

TEST_CASE("a descriptor that is not open is an error") {
  CHECK(testing::error_message([] { LinePipe(FileDescriptor(), FileDescriptor()); }, ErrorKind::kIo)
            .starts_with("open pipe: "));
}

}  // namespace unstarve
