#include "unstarve/storage/remote/http/url.h"

#include <algorithm>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

[[noreturn]] void reject_url(std::string_view shown, const std::string& reason) {
  throw argument_error("open {}: {}", shown, reason);
}

std::string without_values(std::string_view query) {
  std::string out;
  for (bool first = true; first || !query.empty(); first = false) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!first) out += '&';
    const std::size_t equals = part.find('=');
    out += equals == std::string_view::npos ? "..." : std::string(part.substr(0, equals)) + "=...";
  }
  return out;
}

bool is_bucket_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                  c == '_';
         });
}

// host, host:port, [v6] or [v6]:port, in characters that need no encoding.
bool is_authority(std::string_view text) {
  if (text.empty() || text.size() > 512) return false;
  std::string_view port;
  if (text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    const std::string_view address = text.substr(1, end - 1);
    if (address.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) return false;
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view host = text.substr(0, colon);
    if (host.empty() || percent_encode(host, false) != host) return false;
    port = text.substr(colon);
  }
  if (port.empty()) return true;
  const auto number = parse_number<std::uint64_t>(port.substr(1));
  return port.front() == ':' && number && *number >= 1 && *number <= 65535;
}

RemoteUrl parse_bucket(Scheme scheme, std::string_view rest) {
  RemoteUrl url;
  url.scheme = scheme;
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  url.bucket = rest.substr(0, slash);
  url.key = rest.substr(std::min(slash + 1, rest.size()));
  if (!is_bucket_name(url.bucket)) {
    // Not shown: other tools accept credentials before the bucket.
    reject_url(
        "s3://, gs:// or az:// URL",
        "expected a bucket name of letters, digits, '-', '.', '_' (credentials belong in the environment or in the "
        "provider's files)");
  }
  if (url.key.size() > 1024)
    reject_url("bucket " + url.bucket, fmt::format("a key of {} bytes, at most 1024", url.key.size()));
  return url;
}

RemoteUrl parse_http(Scheme scheme, std::string_view rest) {
  RemoteUrl url;
  url.scheme = scheme;
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, end);
  rest.remove_prefix(end);
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    const auto user = percent_decode(authority.substr(0, at));
    if (!user || has_control(*user)) reject_url("URL", "user and password are not percent-encoded");
    url.user = *user;
    authority.remove_prefix(at + 1);
  }
  if (!is_authority(authority))
    reject_url("URL", "'" + std::string(authority) + "' is not a host name with an optional port");
  url.authority = authority;
  const std::size_t question = std::min(rest.find('?'), rest.size());
  url.path = rest.substr(0, question);
  if (url.path.empty()) url.path = "/";
  url.query = rest.substr(std::min(question + 1, rest.size()));
  if ((url.path + url.query).find(' ') != std::string::npos) reject_url(url.display_name(), "a space; expected %20");
  return url;
}

}  // namespace

const char* RemoteUrl::prefix() const noexcept {
  switch (scheme) {
    case Scheme::kHttp: return "http://";
    case Scheme::kHttps: return "https://";
    case Scheme::kS3: return "s3://";
    case Scheme::kGs: return "gs://";
    case Scheme::kAz: return "az://";
  }
  return "";
}

std::string RemoteUrl::request_url() const { return prefix() + authority + path + (query.empty() ? "" : "?" + query); }

std::string RemoteUrl::display_name() const {
  if (is_bucket()) return prefix() + bucket + "/" + key;
  return prefix() + authority + path + (query.empty() ? "" : "?" + without_values(query));
}

RemoteUrl parse_remote_url(std::string_view url) {
  const std::size_t colon = url.find("://");
  const std::string scheme = colon == std::string_view::npos ? "" : lower(url.substr(0, colon));
  if (has_control(url)) reject_url("URL", "found a control character");
  if (url.size() > 16384) reject_url("URL", fmt::format("it has {} bytes, at most 16384", url.size()));
  if (scheme == "http") return parse_http(Scheme::kHttp, url.substr(colon + 3));
  if (scheme == "https") return parse_http(Scheme::kHttps, url.substr(colon + 3));
  if (scheme == "s3") return parse_bucket(Scheme::kS3, url.substr(colon + 3));
  if (scheme == "gs") return parse_bucket(Scheme::kGs, url.substr(colon + 3));
  if (scheme == "az") return parse_bucket(Scheme::kAz, url.substr(colon + 3));
  reject_url("URL", "expected http://, https://, s3://, gs:// or az://");
}

}  // namespace unstarve::remote
