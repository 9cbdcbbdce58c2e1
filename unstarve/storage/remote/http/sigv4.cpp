#include "unstarve/storage/remote/http/sigv4.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "unstarve/storage/remote/http/sha256.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

constexpr const char* kAlgorithm = "AWS4-HMAC-SHA256";
constexpr const char* kEmptyBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";  // its SHA-256

std::string timestamp(std::int64_t unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc);
  return std::string(text.data(), length);
}

// Runs of blanks within a value are collapsed.
std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : trim(value)) {
    if (c == ' ' && !out.empty() && out.back() == ' ') continue;
    out += c;
  }
  return out;
}

struct CanonicalHeaders {
  std::string lines;         // "name:value\n" in the order of names
  std::string signed_names;  // "name;name"
};

CanonicalHeaders canonical_headers(const std::vector<NameValue>& headers) {
  std::vector<NameValue> sorted;
  for (const auto& [name, value] : headers) sorted.emplace_back(lower(name), canonical_value(value));
  std::sort(sorted.begin(), sorted.end());
  CanonicalHeaders out;
  for (const auto& [name, value] : sorted) {
    out.lines += name + ":" + value + "\n";
    out.signed_names += (out.signed_names.empty() ? "" : ";") + name;
  }
  return out;
}

Sha256 signing_key(const std::string& secret, const std::string& day, const std::string& region) {
  const std::string start = "AWS4" + secret;
  Sha256 key = hmac_sha256({reinterpret_cast<const std::uint8_t*>(start.data()), start.size()}, day);
  key = hmac_sha256(key, region);
  key = hmac_sha256(key, "s3");
  return hmac_sha256(key, "aws4_request");
}

}  // namespace

std::string encode_query(std::vector<NameValue> query) {
  for (auto& [name, value] : query) {
    name = percent_encode(name, false);
    value = percent_encode(value, false);
  }
  std::sort(query.begin(), query.end());
  std::string out;
  for (const auto& [name, value] : query) out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

std::vector<NameValue> sign_v4(const UnsignedRequest& request, const SigningKey& key, const std::string& region,
                               std::int64_t unix_seconds) {
  const std::string now = timestamp(unix_seconds);
  const std::string body_hash = kEmptyBody;
  std::vector<NameValue> added{{"X-Amz-Date", now}, {"X-Amz-Content-SHA256", body_hash}};
  if (!key.session_token.empty()) added.emplace_back("X-Amz-Security-Token", key.session_token);

  std::vector<NameValue> all = request.headers;
  all.insert(all.end(), added.begin(), added.end());
  all.emplace_back("Host", request.host);
  const CanonicalHeaders headers = canonical_headers(all);
  const std::string canonical = "GET\n" + request.path + "\n" + request.query + "\n" + headers.lines + "\n" +
                                headers.signed_names + "\n" + body_hash;

  const std::string day = now.substr(0, 8);
  const std::string scope = day + "/" + region + "/s3/aws4_request";
  const std::string to_sign = std::string(kAlgorithm) + "\n" + now + "\n" + scope + "\n" + hex(sha256(canonical));
  const std::string signature = hex(hmac_sha256(signing_key(key.secret, day, region), to_sign));
  added.emplace_back("Authorization", std::string(kAlgorithm) + " Credential=" + key.access_key + "/" + scope +
                                          ", SignedHeaders=" + headers.signed_names + ", Signature=" + signature);
  return added;
}

}  // namespace unstarve::remote
