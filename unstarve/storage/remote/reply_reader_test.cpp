#include "unstarve/storage/remote/reply_reader.h"

#include <catch2/catch.hpp>

namespace unstarve::remote {
namespace {

using Catch::Matchers::Contains;
using Outcome = Verdict::Outcome;
using namespace std::chrono_literals;

const std::string kObject = "0123456789";

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// A fetch of bytes 2 to 6 of kObject.
struct RangeFetch {
  ObjectPin pin{kObject.size(), "\"v1\"", ""};
  std::string out = std::string(5, '.');
  Fetch fetch;

  RangeFetch() {
    fetch.pin = &pin;
    fetch.first = 2;
    fetch.length = out.size();
    fetch.out = {{reinterpret_cast<std::uint8_t*>(out.data()), out.size()}};
  }
};

void take_headers(ReplyReader& reader, std::initializer_list<const char*> lines) {
  for (const char* line : lines) reader.take_header(line);
}

Verdict verdict_of(ReplyReader& reader) { return reader.verdict({}, std::nullopt); }

}  // namespace

TEST_CASE("a range arrives in pieces in the caller's memory") {
  RangeFetch range;
  ReplyReader reader;
  reader.begin(range.fetch, 0, false);
  take_headers(reader, {"HTTP/1.1 206 Partial", "ETag: \"v1\"", "Content-Range: bytes 2-6/10"});
  CHECK(reader.take_body(bytes_of("23")));
  CHECK_FALSE(reader.settled());
  CHECK(reader.progress() == " after 2 of 5 bytes");
  CHECK(range.out == "23...");
  CHECK(reader.take_body(bytes_of("456")));
  CHECK(reader.settled()->outcome == Outcome::kDone);
  CHECK(verdict_of(reader).outcome == Outcome::kDone);
  CHECK(range.out == "23456");
  CHECK(reader.body_bytes() == 5);
}

TEST_CASE("a truncated range is continued by the next reply, also separately") {
  RangeFetch range;
  ReplyReader reader;
  reader.begin(range.fetch, 0, false);
  take_headers(reader, {"HTTP/1.1 206 Partial", "ETag: \"v1\"", "Content-Range: bytes 2-6/10"});
  CHECK(reader.take_body(bytes_of("23")));
  const Verdict truncated = verdict_of(reader);
  CHECK(truncated.outcome == Outcome::kRetry);
  CHECK(truncated.reason == "the body ended after 2 of 5 bytes");
  REQUIRE(reader.received() == 2);

  reader.begin(range.fetch, 2, true);
  take_headers(reader, {"HTTP/1.1 206 Partial", "ETag: \"v1\"", "Content-Range: bytes 4-6/10"});
  CHECK(reader.take_body(bytes_of("456")));
  CHECK(verdict_of(reader).outcome == Outcome::kDone);
  CHECK(range.out == "23...");
  reader.deliver();
  CHECK(range.out == "23456");
}

TEST_CASE("a server that ignores ranges sends the object up to the end of the range") {
  RangeFetch range;
  ReplyReader reader;
  reader.begin(range.fetch, 0, false);
  take_headers(reader, {"HTTP/1.1 200 OK", "ETag: \"v1\"", "Content-Length: 10"});
  CHECK(reader.take_body(bytes_of("0")));
  CHECK_FALSE(reader.take_body(bytes_of("12345678")));
  CHECK(reader.cut());
  CHECK(verdict_of(reader).outcome == Outcome::kDone);
  CHECK(range.out == "23456");
}

TEST_CASE("replies for another range or another version are rejected") {
  const auto verdict = [](std::initializer_list<const char*> headers, const char* body = "23456") {
    RangeFetch range;
    ReplyReader reader;
    reader.begin(range.fetch, 0, false);
    take_headers(reader, headers);
    (void)reader.take_body(bytes_of(body));
    CHECK(reader.received() == 0);
    const Verdict result = verdict_of(reader);
    CHECK(reader.settled().has_value() == (result.reason.find("HTTP") == std::string::npos));
    return result;
  };
  const Verdict other = verdict({"HTTP/1.1 206 Partial", "ETag: \"v2\"", "Content-Range: bytes 2-6/10"});
  CHECK(other.outcome == Outcome::kFatal);
  CHECK_THAT(other.reason, Contains("its ETag is now \"v2\""));
  CHECK_THAT(verdict({"HTTP/1.1 412 Failed"}).reason, Contains("changed since it was opened (HTTP 412)"));
  const Verdict grown = verdict({"HTTP/1.1 206 Partial", "ETag: \"v1\"", "Content-Range: bytes 2-6/11"});
  CHECK(grown.outcome == Outcome::kFatal);
  CHECK_THAT(grown.reason, Contains("it has now 11 bytes, had 10"));
  const Verdict shifted = verdict({"HTTP/1.1 206 Partial", "ETag: \"v1\"", "Content-Range: bytes 3-7/10"});
  CHECK(shifted.outcome == Outcome::kRetry);
  CHECK_THAT(shifted.reason, Contains("expected bytes 2-6"));
  const Verdict longer = verdict({"HTTP/1.1 206 Partial", "ETag: \"v1\"", "Content-Range: bytes 2-6/10"}, "234567");
  CHECK(longer.outcome == Outcome::kRetry);
  CHECK_THAT(longer.reason, Contains("longer than the 5 bytes"));
}

TEST_CASE("a busy server causes a retry after its time, other errors none") {
  RangeFetch range;
  ReplyReader reader;
  reader.begin(range.fetch, 0, false);
  take_headers(reader, {"HTTP/1.1 503 Busy"});
  const Verdict busy = reader.verdict({}, 7s);
  CHECK(busy.outcome == Outcome::kRetry);
  CHECK(busy.reason == "HTTP 503");
  CHECK(busy.retry_after == 7s);
  reader.begin(range.fetch, 0, false);
  take_headers(reader, {"HTTP/1.1 404 Not Found"});
  const Verdict missing = reader.verdict({}, 7s);
  CHECK(missing.outcome == Outcome::kFatal);
  CHECK_FALSE(missing.retry_after);
}

TEST_CASE("rejected credentials are renewed once per fetch") {
  RangeFetch range;
  ReplyReader reader;
  const auto denied = [&](Renewal renewal) {
    range.fetch.renew = [renewal](const HttpRequest&, long, const std::string&) { return renewal; };
    reader.begin(range.fetch, 0, false);
    take_headers(reader, {"HTTP/1.1 403 Forbidden"});
    return verdict_of(reader);
  };
  CHECK(denied({false, ""}).outcome == Outcome::kFatal);
  const Verdict failed = denied({false, "no profile"});
  CHECK(failed.outcome == Outcome::kFatal);
  CHECK_THAT(failed.reason, Contains("no profile"));
  CHECK(denied({true, ""}).outcome == Outcome::kRetry);
  CHECK(denied({true, ""}).outcome == Outcome::kFatal);
}

TEST_CASE("a document is stored up to its limit, with its headers") {
  Fetch fetch;
  fetch.document_limit = 4;
  ReplyReader reader;
  reader.begin(fetch, 0, false);
  take_headers(reader, {"HTTP/1.1 200 OK", "ETag: \"d\""});
  CHECK_FALSE(reader.take_body(bytes_of("abcdef")));
  CHECK(reader.cut());
  CHECK(verdict_of(reader).outcome == Outcome::kDone);
  reader.deliver();
  CHECK(fetch.body == "abcd");
  CHECK(fetch.reply.status == 200);
  CHECK(fetch.reply.etag == "\"d\"");
}

}  // namespace unstarve::remote
