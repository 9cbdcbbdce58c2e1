#include "unstarve/storage/formats/parquet/table_writer.h"

#include <catch2/catch.hpp>
#include <string>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/parquet/testing/memory_sink.h"

namespace unstarve {
namespace {

std::vector<TableField> table_fields() {
  return {{"number", std::vector<std::int64_t>(), true},
          {"text", std::vector<std::string>()},
          {"share", std::vector<float>()}};
}

}  // namespace

// tests/python/infer reads such files with pyarrow.
TEST_CASE("a table is a Parquet file with its columns") {
  if (const ArrowFacts facts = arrow_facts(); !facts.problem.empty() || !facts.in_build) {
    WARN("no Arrow: " << facts.problem);
    return;
  }
  testing::MemorySink sink;
  const auto writer = make_table_writer(sink, table_fields());
  writer->write({std::vector<std::int64_t>{1, -1}, std::vector<std::string>{"a", "b"}, std::vector<float>{0.5F, 1}});
  writer->finish();
  CHECK(sink.bytes().starts_with("PAR1"));
  CHECK(sink.bytes().ends_with("PAR1"));
  CHECK(sink.bytes().find("share") != std::string::npos);
}

TEST_CASE("a full disk is the error of the sink") {
  if (const ArrowFacts facts = arrow_facts(); !facts.problem.empty() || !facts.in_build) return;
  testing::MemorySink sink;
  const auto writer = make_table_writer(sink, table_fields());
  sink.limit(sink.bytes().size());
  CHECK(testing::error_message(
            [&] {
              writer->write({std::vector<std::int64_t>{1}, std::vector<std::string>{"a"}, std::vector<float>{0.5F}});
              writer->finish();
            },
            ErrorKind::kIo) == "write memory: no space left");
}

}  // namespace unstarve
