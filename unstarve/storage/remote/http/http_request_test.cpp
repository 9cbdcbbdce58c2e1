#include "unstarve/storage/remote/http/http_request.h"

#include <catch2/catch.hpp>

namespace unstarve::remote {

TEST_CASE("Content-Range is parsed in every form") {
  const auto range = parse_content_range(" Bytes 10-19/100 ");
  REQUIRE(range);
  CHECK(range->first == 10);
  CHECK(range->last == 19);
  CHECK(range->total == 100);
  CHECK_FALSE(parse_content_range("bytes 0-18446744073709551615/*")->total);
  CHECK(parse_content_range("bytes */7")->unsatisfied);
  for (const char* bad : {"", "bytes", "bytes ", "bytes 1-2", "bytes 2-1/5", "bytes 1-5/5", "bytes 1/5", "bytes -1/5",
                          "bytes 1-/5", "bytes 1-2/", "bytes */*", "items 1-2/5", "bytes 1-2/x", "bytes=1-2/5",
                          "bytes 1-18446744073709551616/*", "bytes 0x1-2/5", "bytes 1-2/5/6", "bytes 1 -2/5"}) {
    INFO(bad);
    CHECK_FALSE(parse_content_range(bad));
  }
}

TEST_CASE("the headers of the last reply are used, without malformed ones") {
  ReplyHeaders headers;
  for (const char* line :
       {"HTTP/1.1 302 Found\r\n", "ETag: \"old\"\r\n", "Content-Length: 5\r\n", "\r\n", "HTTP/2 206 \r\n",
        "eTag:\"new\" \r\n", "Last-Modified: x\x01y\r\n", "Content-Length: -5\r\n", "no colon\r\n", ": nameless\r\n",
        "content-range: bytes 0-0/1\r\n"}) {
    take_header_line(line, headers);
  }
  take_header_line("Last-Modified: " + std::string(5000, 'x'), headers);
  CHECK(headers.status == 206);
  CHECK(headers.etag == "\"new\"");
  CHECK(headers.last_modified.empty());
  CHECK(headers.content_range == "bytes 0-0/1");
  CHECK_FALSE(headers.content_length);
  take_header_line("HTTP/garbage", headers);
  CHECK(headers.status == 0);
}

TEST_CASE("a reply of another version differs from the pinned one") {
  const ObjectPin pin{10, "\"a\"", "Monday"};
  ReplyHeaders same;
  same.etag = "\"a\"";
  same.last_modified = "Tuesday";
  CHECK_FALSE(difference_from(pin, same));
  same.etag = "W/\"a\"";  // weak
  CHECK_FALSE(difference_from(pin, same));
  same.etag.clear();
  CHECK(difference_from(pin, same) == std::string("its ETag is now absent, was \"a\" when it was opened"));
  const ObjectPin dated{10, "", "Monday"};
  CHECK(difference_from(dated, same));
  CHECK_FALSE(difference_from(ObjectPin{10, "", ""}, same));
  CHECK(pin.strong());
  CHECK_FALSE(ObjectPin{1, "W/\"a\"", ""}.strong());
}

}  // namespace unstarve::remote
