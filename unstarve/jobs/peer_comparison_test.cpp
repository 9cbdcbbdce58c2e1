#include "unstarve/jobs/peer_comparison.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/process/child_process.h"

namespace unstarve {
namespace {

constexpr const char* kResult =
    R"({"headline": "5 times", "note": "too noisy", "command": "python -m unstarve.comparison p",)"
    R"( "setup": "2 cores", "left_out": [],)"
    R"( "text": "5 times\n", "rows": [)"
    R"({"name": "unstarve", "settings": "", "rate": 500, "times": null, "times_later": null, "searched": []},)"
    R"({"name": "other", "settings": "2 workers", "rate": 100, "searched": [], "times_later": null,)"
    R"( "times": {"ratio": 5, "low": 4, "high": 6, "pairs": 8}}]})";

// A program that UNSTARVE_PYTHON names instead of an interpreter.
class Interpreter {
 public:
  explicit Interpreter(const std::string& script)
      : path_(std::filesystem::temp_directory_path() / ("unstarve-compare-" + std::to_string(getpid()))) {
    std::ofstream(path_) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    setenv("UNSTARVE_PYTHON", path_.c_str(), 1);
  }
  ~Interpreter() {
    unsetenv("UNSTARVE_PYTHON");
    std::filesystem::remove(path_);
  }

 private:
  std::filesystem::path path_;
};

TEST_CASE("a command's lines, exit code and last error are passed on") {
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
  const ChildResult done =
      run_child({"sh", "-c", "echo one; echo; printf two; echo bad >&2; echo ' ' >&2; exit 3"}, keep);
  CHECK(lines == std::vector<std::string>{"one", "", "two"});
  CHECK(done.status == 3);
  CHECK(done.last_error == "bad");
  CHECK(run_child({"sh", "-c", "kill -9 $$"}, keep).status == 128 + 9);
  CHECK_THROWS_WITH(run_child({"/absent/program"}, keep), Catch::Contains("start /absent/program"));
}

TEST_CASE("an exception of the callback ends the command") {
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(run_child({"sh", "-c", "echo one; exec sleep 60"},
                              [](std::string_view) { throw Error(ErrorKind::kCancelled, "stopped"); }),
                    "stopped");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("the result of the comparison is read, and progress is passed on") {
  const Interpreter python(std::string(R"(echo '{"progress": 0.5, "what": "half"}'; echo noise; )") +
                           "echo \"$@\" >&2; echo '{\"result\": " +
                           [] {
                             std::string text = kResult;
                             for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos; at += 3)
                               text.replace(at, 2, "\\\\n");
                             return text;
                           }() +
                           "}'\n");
  std::vector<std::pair<std::string, double>> seen;
  const ComparisonResult result =
      run_comparison("p", 1, [&](std::string_view what, double share) { seen.emplace_back(what, share); });
  CHECK(seen == std::vector<std::pair<std::string, double>>{{"half", 0.5}});
  CHECK(result.comparison.headline == "5 times");
  REQUIRE(result.comparison.loaders.size() == 2);
  CHECK_FALSE(result.comparison.loaders[0].times);
  CHECK(result.comparison.loaders[1].times->high == 6);
  CHECK(result.comparison.loaders[1].times->pairs == 8);
  CHECK_FALSE(result.comparison.loaders[1].times_later);
  CHECK(parse_ordered_json(result.json)["rows"][1]["rate"] == 100);
}

TEST_CASE("what cannot be compared is left out with the reason") {
  const auto reason = [] {
    const ComparisonResult result = run_comparison("p", 1);
    CHECK(result.comparison.headline.empty());
    CHECK(result.json == "null");
    REQUIRE(result.comparison.left_out.size() == 1);
    CHECK(result.text == result.comparison.left_out[0] + "\n");
    return result.text;
  };
  unsetenv("UNSTARVE_PYTHON");
  CHECK_THAT(reason(), Catch::Contains("UNSTARVE_PYTHON is not set") && Catch::Contains("python -m unstarve demo"));
  {
    const Interpreter python(R"(echo '{"error": "package pillow not found"}'; exit 3)");
    CHECK(reason() == "comparison with other loaders left out: package pillow not found\n");
  }
  const Interpreter python("echo no such module >&2; exit 1");
  CHECK_THAT(reason(), Catch::Contains("exited with 1: no such module"));
}

TEST_CASE("a result of another version is an error") {
  CHECK_THROWS_WITH(
      comparison_from_json(parse_ordered_json("{\"headline\": \"5 times\"}")),
      Catch::Contains("read the result of unstarve.comparison") && Catch::Contains("from the same wheel"));
}

}  // namespace
}  // namespace unstarve
