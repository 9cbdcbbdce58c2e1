#pragma once
// Signed HTTP requests for objects of buckets, s3://, gs:// and az://.
//
// Credentials are obtained at the first request and renewed before they expire, or when the server reports that they
// have expired (settings_cache.h).
// Threads: all functions may be called concurrently. Failure: that of read_bucket_settings().

#include <optional>
#include <string>
#include <vector>

#include "unstarve/storage/remote/bucket_settings.h"
#include "unstarve/storage/remote/fetch.h"
#include "unstarve/storage/remote/http/url.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/remote/settings_cache.h"

namespace unstarve::remote {

// The address of an object.
struct BucketAddress {
  std::string scheme;  // "http" or "https"
  std::string host;    // host[:port], as in the Host header
  std::string path;    // percent-encoded, begins with '/'
};

// `region` may be empty: us-east-1. Error(kArgument) if the endpoint is not an http(s):// URL.
[[nodiscard]] BucketAddress address_of(const BucketSettings& settings, BucketAddressing addressing,
                                       const std::string& region, const std::string& bucket, const std::string& key);

// A part of the list of a bucket.
struct ListRequest {
  std::string bucket, prefix;
  std::string delimiter{};           // empty: none
  std::string continuation_token{};  // of the previous page; empty for the first
};

class BucketClient {
 public:
  BucketClient(Scheme scheme, bool anonymous, BucketAddressing addressing, Environment environment);

  // GET of `key` with `headers`, signed unless there are no credentials. `region`: of the bucket, if known to differ
  // from the settings.
  [[nodiscard]] HttpRequest request(const std::string& bucket, const std::string& key, std::vector<NameValue> headers,
                                    const std::string& region = "");
  [[nodiscard]] HttpRequest list(const ListRequest& page, const std::string& region = "");
  // The URL of an object, without credentials.
  [[nodiscard]] std::string url_of(const std::string& bucket, const std::string& key, const std::string& region);

  // Fetch::renew of its requests.
  [[nodiscard]] Renewal renew(const HttpRequest& rejected, long status, const std::string& reason);
  // A suffix for messages about rejected requests: how to provide credentials if requests are not signed; else empty.
  [[nodiscard]] std::string why_unsigned();

 private:
  struct Target {
    std::string bucket, key, region;
    std::vector<NameValue> query;  // not encoded
  };
  [[nodiscard]] HttpRequest make(const Target& target, std::vector<NameValue> headers);

  Scheme scheme_;
  BucketAddressing addressing_;
  SettingsCache settings_;
};

}  // namespace unstarve::remote
