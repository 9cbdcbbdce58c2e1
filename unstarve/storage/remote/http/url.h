#pragma once
// Parses the supported URLs.
//
//   http[s]://[user[:password]@]host[:port]/path[?query]      path and query as sent: already percent-encoded
//   s3://bucket/key, gs://bucket/key, az://container/blob     the key is literal: no decoding, '?' is part of the key
//
// Threads: pure functions. Failure: Error(kArgument) with the reason, without the user part and the query.

#include <string>
#include <string_view>

namespace unstarve::remote {

enum class Scheme { kHttp, kHttps, kS3, kGs, kAz };

struct RemoteUrl {
  Scheme scheme = Scheme::kHttp;
  std::string user;         // "name:password", percent-decoded; empty without
  std::string authority;    // host[:port]
  std::string path;         // begins with '/'
  std::string query;        // without the '?'
  std::string bucket, key;  // of s3, gs and az; the above are empty then

  [[nodiscard]] bool is_bucket() const noexcept { return scheme >= Scheme::kS3; }
  // "s3://"
  [[nodiscard]] const char* prefix() const noexcept;
  // The URL to request, without the user part; http and https only.
  [[nodiscard]] std::string request_url() const;
  // For messages: no user part, and "..." for every value in the query.
  [[nodiscard]] std::string display_name() const;
};

[[nodiscard]] RemoteUrl parse_remote_url(std::string_view url);

}  // namespace unstarve::remote
