#pragma once
// Credentials and address of a kind of bucket. The environment comes first; what it lacks is obtained by the packages
// of the providers (credential_helper.h).
//
//        credentials in the environment                   endpoint, the first that is set
//   s3   AWS_ACCESS_KEY_ID + AWS_SECRET_ACCESS_KEY        AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's,
//        [+ AWS_SESSION_TOKEN]                            Amazon's
//   gs   GS_ACCESS_KEY_ID + GS_SECRET_ACCESS_KEY (HMAC)   GS_ENDPOINT_URL, Google's
//   az   AZURE_STORAGE_SAS_TOKEN                          AZURE_STORAGE_SERVICE_ENDPOINT, that of
//                                                         AZURE_STORAGE_CONNECTION_STRING, of AZURE_STORAGE_ACCOUNT
//
// The region of s3 is AWS_REGION, else AWS_DEFAULT_REGION, else the profile's. With a key in the environment, no
// profile is read.
// Threads: pure functions, apart from reading the environment.
// Failure: Error(kArgument) for half a key pair or an az:// without an account.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "unstarve/storage/remote/http/sigv4.h"
#include "unstarve/storage/remote/http/url.h"

namespace unstarve::remote {

// The value of an environment variable; nothing if it is unset or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] Environment process_environment();

struct BucketSettings {
  std::optional<SigningKey> key;  // signs requests, with AWS Signature Version 4
  std::string bearer;             // else an OAuth 2 access token,
  std::string query;              // else a shared access signature of Azure: "sv=...&sig=..."
  std::string why_unsigned;       // else the reason
  std::optional<std::chrono::system_clock::time_point> expires;
  std::string region;            // empty: not set anywhere
  std::string endpoint_url;      // empty: Amazon's
  std::string addressing_style;  // empty, "auto", "path" or "virtual"

  [[nodiscard]] bool is_signed() const noexcept { return key || !bearer.empty() || !query.empty(); }
  [[nodiscard]] bool same_credentials(const BucketSettings& other) const noexcept {
    return key == other.key && bearer == other.bearer && query == other.query;
  }
};

// `ask` is called if the environment has no credentials: ask_credential_helper().
using AskHelper = std::function<BucketSettings(Scheme scheme)>;
[[nodiscard]] BucketSettings read_bucket_settings(Scheme scheme, const Environment& environment, const AskHelper& ask);

}  // namespace unstarve::remote
