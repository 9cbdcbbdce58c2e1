// RemoteOptions from the environment.
#include <filesystem>
#include <limits>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/remote/bucket_settings.h"
#include "unstarve/storage/remote/http/text.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve {
namespace {

[[noreturn]] void reject_option(const std::string& name, const std::string& value, const char* expected) {
  throw argument_error("{}={}: expected {}", name, value, expected);
}

// Sets `target` if the variable is set.
template <class Number>
void read_number(const remote::Environment& environment, const char* name, Number& target) {
  const auto text = environment(name);
  if (!text) return;
  const auto value = parse_number<std::uint64_t>(*text);
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) {
    reject_option(name, *text, "a whole number");
  }
  target = static_cast<Number>(*value);
}

// A bundled libcurl has the path of the distribution that built it; "" leaves it that path.
std::string system_ca_bundle() {
  for (const char* const file :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"}) {
    std::error_code failed;
    if (std::filesystem::exists(file, failed)) return file;
  }
  return "";
}

}  // namespace

RemoteOptions remote_options_from_environment() {
  const remote::Environment environment = remote::process_environment();
  RemoteOptions options;
  read_number(environment, "UNSTARVE_REMOTE_IN_FLIGHT", options.in_flight);
  read_number(environment, "UNSTARVE_REMOTE_ATTEMPTS", options.attempts);
  read_number(environment, "UNSTARVE_REMOTE_CACHE_BYTES", options.cache_bytes);
  std::int32_t seconds = 0;
  read_number(environment, "UNSTARVE_REMOTE_TIMEOUT_S", seconds);
  if (seconds != 0) options.total_timeout = std::chrono::seconds(seconds);
  options.cache_folder = environment("UNSTARVE_REMOTE_CACHE").value_or("");
  if (const auto anonymous = environment("UNSTARVE_S3_ANONYMOUS")) {
    if (*anonymous != "0" && *anonymous != "1") reject_option("UNSTARVE_S3_ANONYMOUS", *anonymous, "0 or 1");
    options.anonymous = *anonymous == "1";
  }
  if (const auto addressing = environment("UNSTARVE_S3_ADDRESSING")) {
    if (*addressing == "path")
      options.addressing = BucketAddressing::kPath;
    else if (*addressing == "virtual")
      options.addressing = BucketAddressing::kVirtualHost;
    else if (*addressing != "auto")
      reject_option("UNSTARVE_S3_ADDRESSING", *addressing, "auto, path or virtual");
  }
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE"}) {
    if (const auto file = environment(name)) options.ca_bundle = *file;
  }
  if (options.ca_bundle.empty()) options.ca_bundle = system_ca_bundle();
  return options;
}

}  // namespace unstarve
