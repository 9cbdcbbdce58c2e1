#pragma once
// Signed HTTP requests for objects of buckets, s3:// and gs://.
//
// Credentials are read at the first request and again every minute, so that a file with temporary ones may be renewed
// while a job runs.
// Threads: all functions may be called concurrently. Failure: Error(kArgument) for invalid settings (aws_config.h).

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/storage/remote/aws_config.h"
#include "unstarve/storage/remote/http_request.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/remote/url.h"

namespace unstarve::remote {

// The address of an object.
struct BucketAddress {
  std::string scheme;  // "http" or "https"
  std::string host;    // host[:port], as in the Host header
  std::string path;    // percent-encoded, begins with '/'
};

// `region` may be empty: us-east-1. Error(kArgument) if the endpoint is not an http(s):// URL.
[[nodiscard]] BucketAddress address_of(const AwsSettings& settings, BucketAddressing addressing,
                                       const std::string& region, const std::string& bucket, const std::string& key);

class BucketClient {
 public:
  BucketClient(Scheme scheme, bool anonymous, BucketAddressing addressing, Environment environment);

  // GET of `key` ("" for the bucket itself) with `query` and `headers`, signed now unless there are no credentials.
  // `region`: of the bucket, if known to differ from the settings.
  [[nodiscard]] HttpRequest request(const std::string& bucket, const std::string& key, std::vector<NameValue> query,
                                    std::vector<NameValue> headers, const std::string& region = "") const;

  // A suffix for messages about rejected requests: how to provide credentials if requests are not signed; else empty.
  [[nodiscard]] std::string why_unsigned() const;

 private:
  [[nodiscard]] AwsSettings settings() const;

  Scheme scheme_;
  bool anonymous_;
  BucketAddressing addressing_;
  Environment environment_;
  mutable std::mutex mutex_;
  mutable std::optional<AwsSettings> settings_;
  mutable std::chrono::steady_clock::time_point read_at_{};
};

}  // namespace unstarve::remote
