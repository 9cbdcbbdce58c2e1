#pragma once
// AWS Signature Version 4 in request headers, in the form for S3: the path is encoded once and not normalised, and the
// hash of the body is sent. Bodies are always empty here.
//
//   AWS General Reference, "Create a signed AWS API request":
//   canonical request ─ SHA-256 ─▶ string to sign ─ HMAC with a key derived from secret, day, region, service ─▶
//   Authorization
//
// Threads: pure function. Cost: about 10 us (5 HMACs).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace unstarve::remote {

using NameValue = std::pair<std::string, std::string>;

struct SigningKey {
  std::string access_key;
  std::string secret;
  std::string session_token;  // empty: none
};

struct UnsignedRequest {
  std::string method = "GET";
  std::string host;                // host[:port] as sent
  std::string path;                // percent-encoded
  std::vector<NameValue> query;    // not encoded, in any order
  std::vector<NameValue> headers;  // besides Host; all are signed
};

// The query in canonical order and encoding, as required after the '?' of the URL.
[[nodiscard]] std::string canonical_query(std::vector<NameValue> query);

// The headers to add to request.headers: X-Amz-Date, X-Amz-Content-SHA256, X-Amz-Security-Token (with a token) and
// Authorization. `unix_seconds` is the time of signing.
[[nodiscard]] std::vector<NameValue> sign_v4(const UnsignedRequest& request, const SigningKey& key,
                                             const std::string& region, const std::string& service,
                                             std::int64_t unix_seconds);

}  // namespace unstarve::remote
