#include "unstarve/diagnose/traces/trace_file.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

namespace unstarve {
namespace {

using Catch::Contains;

RunProfile read_content(const std::string& content) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "unstarve_trace_file_test";
  write_file_atomically(path, content);
  return read_trace(path.string());
}

TEST_CASE("the format is recognised by the content") {
  const RunProfile kineto = read_content(R"( {"schemaVersion": 1, "traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})");
  REQUIRE(kineto.trace);
  CHECK(kineto.trace->format == "Kineto");
  RunProfile watched;
  watched.command = "python train.py";
  const RunProfile same = read_content(R"({"verdict": "x", "findings": [{}], "profile": )" + to_json(watched) + "}");
  CHECK_FALSE(same.trace);
  CHECK(same.command == "python train.py");
  CHECK(to_json(read_content(R"({"profile": )" + to_json(kineto) + "}")) == to_json(kineto));
  CHECK(to_json(read_content(to_json(watched))) == to_json(watched));  // the profile alone
}

TEST_CASE("files that are not traces") {
  CHECK_THROWS_WITH(read_content(""), Contains("is empty"));
  CHECK_THROWS_WITH(read_content("\x89PNG\r\n"), Contains("unknown format"));
  CHECK_THROWS_WITH(read_content("{\"a\": 1}"), Contains("without \"traceEvents\""));
  CHECK_THROWS_WITH(read_content("{\"profile\": {\"version\": 99}}"), Contains("found version 99"));
  CHECK_THROWS_WITH(read_content("{\"verdict\": \"x\",\n \"profile\": {}"),
                    Contains("JSON that ends after 31 bytes, before it is complete") &&
                        Contains("expected the whole output of unstarve watch --out"));
  CHECK_THROWS_WITH(read_content("{\"verdict\": \"x\",\n \"profile\": {]}"),
                    Contains("parse error at line 2, column 14") && !Contains("json.exception"));
  CHECK_THROWS_WITH(read_content("[1"), Contains("found a JSON array; expected an object"));
  CHECK_THROWS_WITH(read_content(R"({"schemaVersion": 1, "traceEvents": []})"), Contains("found no operators"));
  CHECK_THROWS_AS(read_trace("/no/such/file"), Error);
  CHECK_THROWS_WITH(read_trace("/"), Contains("found a folder; expected a file"));
}

}  // namespace
}  // namespace unstarve
