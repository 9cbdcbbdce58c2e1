#include <catch2/catch.hpp>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/source/open_bytes.h"
#include "unstarve/storage/source/shard_list.h"

namespace unstarve {

TEST_CASE("without libcurl, opening a URL fails with the remedy and without its secrets") {
  const auto error_message = [](auto call) { return testing::error_message(call, ErrorKind::kMissing); };
  const std::string open = error_message([] { (void)open_bytes("https://user:secret@host/file"); });
  CHECK_THAT(open, Catch::Contains("libcurl4-openssl-dev"));
  CHECK_THAT(open, !Catch::Contains("secret"));
  CHECK_THAT(error_message([] { (void)list_shards("s3://bucket/*.tar"); }), Catch::Contains("libcurl4-openssl-dev"));
  CHECK_THAT(error_message([] { (void)open_dataset("s3://bucket/folder/"); }), Catch::Contains("libcurl4-openssl-dev"));
  CHECK_THAT(error_message([] { (void)RemoteStore::of_process(); }), Catch::Contains("UNSTARVE_REMOTE=ON"));
}

}  // namespace unstarve
