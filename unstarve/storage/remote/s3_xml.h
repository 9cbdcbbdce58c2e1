#pragma once
// The XML that S3 answers with: pages of a bucket's list, and errors. Parsed by expat, without document types (so
// without entities of the sender's own), at most 16 elements deep.
//
// Threads: pure functions. Failure: Error(kInput) with the name, line and reason.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve::remote {

struct ListedObject {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag{};  // in quotes, as in headers; empty where it is not told
};

// One page of ListObjectsV2.
struct ListPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> prefixes;  // up to the delimiter that was asked for: what is below is not listed
  bool truncated = false;             // there are more pages
  std::string continuation_token;     // not empty when truncated
};
[[nodiscard]] ListPage parse_list_page(std::string_view xml, const std::string& name);

// "Code: Message" of an <Error>, shortened to one line of at most 200 bytes; empty when it is none. Its other elements
// are
// left out: some repeat the request with its access key.
[[nodiscard]] std::string s3_error_text(std::string_view xml) noexcept;

}  // namespace unstarve::remote
