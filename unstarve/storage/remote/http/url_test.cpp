#include "unstarve/storage/remote/http/url.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {

TEST_CASE("http URLs are parsed, and shown without secrets") {
  const RemoteUrl url = parse_remote_url("HTTPS://me:p%40ss@host:8443/a/b%20c?X-Amz-Signature=abc&flag&v=1#part");
  CHECK(url.scheme == Scheme::kHttps);
  CHECK(url.user == "me:p@ss");
  CHECK(url.authority == "host:8443");
  CHECK(url.request_url() == "https://host:8443/a/b%20c?X-Amz-Signature=abc&flag&v=1");
  CHECK(url.display_name() == "https://host:8443/a/b%20c?X-Amz-Signature=...&...&v=...");
  CHECK(parse_remote_url("http://[::1]:80").request_url() == "http://[::1]:80/");
  CHECK(parse_remote_url("http://host?q").request_url() == "http://host/?q");
}

TEST_CASE("what no URL may contain is encoded, and the rest is unchanged") {
  CHECK(percent_encode_invalid("a b#c/\xC3\xBC.jpg\x7F\n") == "a%20b%23c/%C3%BC.jpg%7F%0A");
  CHECK(percent_encode_invalid("a%20b%2f.jpg?w=1&k=~%2F") == "a%20b%2f.jpg?w=1&k=~%2F");
  CHECK(percent_encode_invalid("100%") == "100%25");
  CHECK(percent_encode_invalid("%2x%2") == "%252x%252");
}

TEST_CASE("keys of buckets are not decoded") {
  const RemoteUrl url = parse_remote_url("s3://my-bucket.x/a//b%20c?d#e f");
  CHECK(url.bucket == "my-bucket.x");
  CHECK(url.key == "a//b%20c?d#e f");
  CHECK(url.display_name() == "s3://my-bucket.x/a//b%20c?d#e f");
  CHECK(parse_remote_url("gs://b").key.empty());
}

TEST_CASE("invalid URLs are rejected without showing secrets") {
  for (const char* bad : {"",
                          "file",
                          "ftp://h/",
                          "http://",
                          "http:///p",
                          "http://h:/",
                          "http://h:65536/",
                          "http://h:x/",
                          "http://[::1/",
                          "http://[]/",
                          "http://[::1]x/",
                          "http://u:S3CRET%g@h/",
                          "http://S3CRET@/",
                          "http://h/a b",
                          "http://h/\x01",
                          "s3://",
                          "s3:///k",
                          "s3://.b/k",
                          "s3://A:S3CRET/x@b/k",
                          "gs://b c/"}) {
    INFO(bad);
    try {
      (void)parse_remote_url(bad);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kArgument);
      CHECK_THAT(error.what(), !Catch::Contains("S3CRET"));
    }
  }
  CHECK_THROWS_AS(parse_remote_url("s3://b/" + std::string(1025, 'k')), Error);
  CHECK_THROWS_AS(parse_remote_url("http://h/" + std::string(20000, 'k')), Error);
}

}  // namespace unstarve::remote
