#pragma once
// One HTTP GET and the requirements on its reply. Plain values.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unstarve::remote {

using NameValue = std::pair<std::string, std::string>;

struct BucketSettings;

struct HttpRequest {
  std::string url;
  std::vector<NameValue> headers;
  std::string user{};  // "name:password" for basic authentication; empty: none
  bool follow_redirects = false;
  std::shared_ptr<const BucketSettings> settings{};  // with which it was made
};

// The headers of a reply that are used; empty if they were not sent.
struct ReplyHeaders {
  long status = 0;
  std::string etag, last_modified, content_range, bucket_region;
  std::optional<std::uint64_t> content_length;
};

// The version of an object when it was opened.
struct ObjectPin {
  std::uint64_t bytes = 0;
  std::string etag, last_modified;

  // Whether the ETag guarantees equal bytes: "..." without a leading W/ (RFC 9110, 8.8.3).
  [[nodiscard]] bool strong() const noexcept { return etag.size() >= 2 && etag.front() == '"'; }
};

// Content-Range (RFC 9110, 14.4): "bytes FIRST-LAST/TOTAL", "bytes */TOTAL", or '*' for an unknown total.
struct ContentRange {
  bool unsatisfied = false;  // "*/TOTAL"
  std::uint64_t first = 0, last = 0;
  std::optional<std::uint64_t> total;
};
// Nothing if it is malformed, or if not first <= last < total.
[[nodiscard]] std::optional<ContentRange> parse_content_range(std::string_view value);

// Adds one header line ("Name: value", with or without its line end); a status line ("HTTP/...") resets the headers, as
// after a redirect.
void take_header_line(std::string_view line, ReplyHeaders& headers);

// The reason why a reply does not belong to the opened version of the object; nothing if it does.
[[nodiscard]] std::optional<std::string> difference_from(const ObjectPin& pin, const ReplyHeaders& headers);

}  // namespace unstarve::remote
