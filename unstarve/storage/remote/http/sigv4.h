#pragma once
// AWS Signature Version 4 in the headers of a GET from S3: the path is encoded once and not normalised, and the hash of
// the empty body is sent. CURLOPT_AWS_SIGV4 of libcurl makes the same signature, but takes 20 us more per request.
//
//   AWS General Reference, "Create a signed AWS API request":
//   canonical request ─ SHA-256 ─▶ string to sign ─ HMAC with a key derived from secret, day, region, service ─▶
//   Authorization
//
// Threads: pure function. Cost: about 10 us (5 HMACs).

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/storage/remote/http/http_request.h"

namespace unstarve::remote {

// A key of AWS or of a compatible service.
struct SigningKey {
  std::string access_key;
  std::string secret;
  std::string session_token;  // empty: none
  friend bool operator==(const SigningKey&, const SigningKey&) = default;
};

struct UnsignedRequest {
  std::string host;                // host[:port] as sent
  std::string path;                // percent-encoded
  std::string query;               // of encode_query()
  std::vector<NameValue> headers;  // in addition to Host; all are signed
};

// The query in canonical order and encoding, as required after the '?' of the URL.
[[nodiscard]] std::string encode_query(std::vector<NameValue> query);

// The headers to add to request.headers: X-Amz-Date, X-Amz-Content-SHA256, X-Amz-Security-Token (with a token) and
// Authorization. `unix_seconds` is the time of signing.
[[nodiscard]] std::vector<NameValue> sign_v4(const UnsignedRequest& request, const SigningKey& key,
                                             const std::string& region, std::int64_t unix_seconds);

}  // namespace unstarve::remote
