#include "unstarve/storage/remote/bucket_client.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/remote/credential_helper.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

constexpr const char* kDefaultRegion = "us-east-1";
// The first version of Azure Blob Storage with the list and token features in use.
constexpr const char* kAzureVersion = "2021-08-06";

bool in_host_name(const BucketSettings& settings, BucketAddressing addressing, const std::string& bucket) {
  if (addressing == BucketAddressing::kAuto && settings.addressing_style == "path") return false;
  if (addressing == BucketAddressing::kAuto && settings.addressing_style == "virtual") return true;
  if (addressing != BucketAddressing::kAuto) return addressing == BucketAddressing::kVirtualHost;
  return settings.endpoint_url.empty() && bucket.find('.') == std::string::npos;
}

RemoteUrl endpoint_of(const BucketSettings& settings, const std::string& region) {
  if (settings.endpoint_url.empty()) return parse_remote_url("https://s3." + region + ".amazonaws.com");
  RemoteUrl url;
  try {
    url = parse_remote_url(settings.endpoint_url);
  } catch (const Error&) {
    url.scheme = Scheme::kS3;  // reported below, without the URL, which may contain secrets
  }
  if (url.is_bucket() || !url.user.empty() || !url.query.empty()) {
    throw argument_error(
        "open bucket: the endpoint is not http[s]://host[:port][/path] without user and query (AWS_ENDPOINT_URL, "
        "endpoint_url, GS_ENDPOINT_URL, AZURE_STORAGE_SERVICE_ENDPOINT)");
  }
  return url;
}

// Whether a reply reports credentials that have expired or are not known any more.
bool reports_expiry(long status, const std::string& reason) {
  constexpr std::array kCodes = {"ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId",
                                 "AuthenticationFailed"};
  if (status == 401) return true;
  return (status == 400 || status == 403) &&
         std::any_of(kCodes.begin(), kCodes.end(), [&](const char* code) { return reason.starts_with(code); });
}

}  // namespace

BucketAddress address_of(const BucketSettings& settings, BucketAddressing addressing, const std::string& region,
                         const std::string& bucket, const std::string& key) {
  if (percent_encode(region, false) != region) {
    throw argument_error("S3 region '{}': letters, digits and '-' are expected", region);
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
    : scheme_(scheme), addressing_(addressing), settings_([scheme, anonymous, environment = std::move(environment)] {
        if (!anonymous) return read_bucket_settings(scheme, environment, ask_credential_helper);
        BucketSettings settings = read_bucket_settings(scheme, environment, [](Scheme) { return BucketSettings(); });
        settings.key.reset();
        settings.query.clear();
        settings.why_unsigned = "UNSTARVE_S3_ANONYMOUS is set";
        return settings;
      }) {}

std::string BucketClient::why_unsigned() {
  const SettingsCache::Settings settings = settings_.get();
  return settings->is_signed() ? "" : "; the request was not signed: " + settings->why_unsigned;
}

std::string BucketClient::url_of(const std::string& bucket, const std::string& key, const std::string& region) {
  const SettingsCache::Settings found = settings_.get();
  const std::string& used_region = region.empty() ? found->region : region;
  const BucketAddress address = address_of(*found, addressing_, used_region, bucket, key);
  return address.scheme + "://" + address.host + address.path;
}

HttpRequest BucketClient::request(const std::string& bucket, const std::string& key, std::vector<NameValue> headers,
                                  const std::string& region) {
  return make({bucket, key, region, {}}, std::move(headers));
}

HttpRequest BucketClient::list(const ListRequest& page, const std::string& region) {
  const bool azure = scheme_ == Scheme::kAz;
  std::vector<NameValue> query{{"prefix", page.prefix}};
  if (azure) {
    query.insert(query.end(), {{"restype", "container"}, {"comp", "list"}});
  } else {
    query.insert(query.end(), {{"list-type", "2"}, {"encoding-type", "url"}});
  }
  if (!page.delimiter.empty()) query.emplace_back("delimiter", page.delimiter);
  if (!page.continuation_token.empty()) {
    query.emplace_back(azure ? "marker" : "continuation-token", page.continuation_token);
  }
  return make({page.bucket, "", region, std::move(query)}, {});
}

HttpRequest BucketClient::make(const Target& target, std::vector<NameValue> headers) {
  HttpRequest request;
  request.settings = settings_.get();
  const BucketSettings& found = *request.settings;
  const std::string region = !target.region.empty()  ? target.region
                             : !found.region.empty() ? found.region
                                                     : kDefaultRegion;
  const BucketAddress address = address_of(found, addressing_, region, target.bucket, target.key);
  std::string query = encode_query(target.query);
  request.headers = std::move(headers);
  if (scheme_ == Scheme::kAz) request.headers.emplace_back("x-ms-version", kAzureVersion);
  if (found.key) {
    const UnsignedRequest unsigned_request{address.host, address.path, query, request.headers};
    std::vector<NameValue> added = sign_v4(unsigned_request, *found.key, region, std::time(nullptr));
    std::move(added.begin(), added.end(), std::back_inserter(request.headers));
  } else if (!found.bearer.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + found.bearer);
  } else if (!found.query.empty()) {
    query += (query.empty() ? "" : "&") + found.query;
  }
  request.url = address.scheme + "://" + address.host + address.path + (query.empty() ? "" : "?" + query);
  return request;
}

Renewal BucketClient::renew(const HttpRequest& rejected, long status, const std::string& reason) {
  if (!rejected.settings || !rejected.settings->is_signed() || !reports_expiry(status, reason)) return {};
  try {
    return {.renewed = settings_.renew(rejected.settings), .failure = ""};
  } catch (const Error& error) {
    return {.renewed = false, .failure = error.what()};
  }
}

}  // namespace unstarve::remote
