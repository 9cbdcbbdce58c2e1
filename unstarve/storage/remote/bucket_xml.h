#pragma once
// Parses the XML replies of S3 and Azure Blob Storage: pages of a bucket's list, and errors. Uses expat, rejects
// document types (and therefore custom entities), and allows at most 16 levels of elements.
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
  std::string etag{};  // in quotes, as in headers; empty if absent
};

// One page of S3's ListObjectsV2 or Azure's List Blobs.
struct ListPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> prefixes;  // up to the requested delimiter; objects below are not listed
  bool truncated = false;             // there are more pages
  std::string continuation_token;     // not empty if truncated
};
[[nodiscard]] ListPage parse_list_page(std::string_view xml, const std::string& name);

// "Code: Message" of an <Error>, shortened to one line of at most 200 bytes; empty if it is none. Other elements are
// omitted: some repeat the request with its access key.
[[nodiscard]] std::string bucket_error_text(std::string_view xml) noexcept;

}  // namespace unstarve::remote
