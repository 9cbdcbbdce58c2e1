#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"
#include "unstarve/storage/formats/parquet/table_writer.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/fixtures_folder.h"

namespace unstarve {
namespace {

TEST_CASE("without Arrow, opening Parquet names the package to install") {
  CHECK_FALSE(arrow_facts().in_build);
  CHECK(arrow_facts().version.empty());
  const std::string plain = testing::fixture("parquet/plain.parquet").string();
  CHECK_THAT(testing::error_message([&] { return open_dataset(plain); }, ErrorKind::kMissing),
             Catch::Contains("plain.parquet") && Catch::Contains("pyarrow"));
}

TEST_CASE("without Arrow, Parquet cannot be written") {
  CountingSink sink;
  CHECK_THROWS_AS(make_parquet_writer(sink, {}), Error);
  CHECK_THROWS_AS(make_table_writer(sink, {}), Error);
}

}  // namespace
}  // namespace unstarve
