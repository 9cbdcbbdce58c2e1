#include "unstarve/storage/remote/bucket_client.h"

#include <ctime>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/text.h"

namespace unstarve::remote {
namespace {

constexpr auto kReadAgain = std::chrono::seconds(60);
constexpr const char* kDefaultRegion = "us-east-1";

bool in_host_name(const AwsSettings& settings, BucketAddressing addressing, const std::string& bucket) {
  if (addressing == BucketAddressing::kAuto && settings.addressing_style == "path") return false;
  if (addressing == BucketAddressing::kAuto && settings.addressing_style == "virtual") return true;
  if (addressing != BucketAddressing::kAuto) return addressing == BucketAddressing::kVirtualHost;
  return settings.endpoint_url.empty() && bucket.find('.') == std::string::npos;
}

RemoteUrl endpoint_of(const AwsSettings& settings, const std::string& region) {
  if (settings.endpoint_url.empty()) return parse_remote_url("https://s3." + region + ".amazonaws.com");
  RemoteUrl url;
  try {
    url = parse_remote_url(settings.endpoint_url);
  } catch (const Error&) {
    url.scheme = Scheme::kS3;  // reported below, without the URL, which may contain secrets
  }
  if (url.is_bucket() || !url.user.empty() || !url.query.empty()) {
    throw Error(ErrorKind::kArgument,
                "S3 endpoint: expected http[s]://host[:port] without user and query (AWS_ENDPOINT_URL, endpoint_url)");
  }
  return url;
}

}  // namespace

BucketAddress address_of(const AwsSettings& settings, BucketAddressing addressing, const std::string& region,
                         const std::string& bucket, const std::string& key) {
  if (percent_encode(region, false) != region) {
    throw Error(ErrorKind::kArgument, "S3 region '" + region + "': letters, digits and '-' are expected");
  }
  const RemoteUrl endpoint = endpoint_of(settings, region.empty() ? kDefaultRegion : region);
  std::string base = endpoint.path;
  while (!base.empty() && base.back() == '/') base.pop_back();
  BucketAddress address;
  address.scheme = endpoint.scheme == Scheme::kHttp ? "http" : "https";
  const bool host_name = in_host_name(settings, addressing, bucket);
  // The default port is not part of the signed Host header.
  std::string authority = endpoint.authority;
  const std::string_view own_port = endpoint.scheme == Scheme::kHttp ? ":80" : ":443";
  if (authority.size() > own_port.size() && authority.ends_with(own_port)) {
    authority.resize(authority.size() - own_port.size());
  }
  address.host = (host_name ? bucket + "." : "") + authority;
  address.path = base + (host_name ? "" : "/" + bucket);
  // The path of a bucket itself is "/bucket", or "/" after a host name.
  if (!key.empty() || host_name) address.path += "/" + percent_encode(key, true);
  return address;
}

BucketClient::BucketClient(Scheme scheme, bool anonymous, BucketAddressing addressing, Environment environment)
    : scheme_(scheme), anonymous_(anonymous), addressing_(addressing), environment_(std::move(environment)) {}

AwsSettings BucketClient::settings() const {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!settings_ || now - read_at_ > kReadAgain) {
    settings_ = scheme_ == Scheme::kGs ? read_gs_settings(environment_) : read_aws_settings(environment_);
    read_at_ = now;
  }
  return *settings_;
}

std::string BucketClient::why_unsigned() const {
  if (anonymous_) return "; the request was not signed, as UNSTARVE_S3_ANONYMOUS is set";
  if (settings().key) return "";
  if (scheme_ == Scheme::kGs) return "; the request was not signed: set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY";
  return "; the request was not signed: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into "
         "~/.aws/credentials";
}

HttpRequest BucketClient::request(const std::string& bucket, const std::string& key, std::vector<NameValue> query,
                                  std::vector<NameValue> headers, const std::string& region) const {
  const AwsSettings found = settings();
  const std::string used_region = !region.empty() ? region : !found.region.empty() ? found.region : kDefaultRegion;
  const BucketAddress address = address_of(found, addressing_, used_region, bucket, key);
  const std::string encoded_query = canonical_query(query);
  HttpRequest request;
  request.url =
      address.scheme + "://" + address.host + address.path + (encoded_query.empty() ? "" : "?" + encoded_query);
  request.headers = std::move(headers);
  if (found.key && !anonymous_) {
    UnsignedRequest unsigned_request{"GET", address.host, address.path, std::move(query), request.headers};
    const auto added = sign_v4(unsigned_request, *found.key, used_region, "s3", std::time(nullptr));
    request.headers.insert(request.headers.end(), added.begin(), added.end());
  }
  return request;
}

}  // namespace unstarve::remote
