#include "unstarve/storage/remote/bucket_settings.h"

#include <cstdlib>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

// The key in two or three variables; nothing if they are not set.
std::optional<SigningKey> read_key(const Environment& environment, const std::string& id_name,
                                   const std::string& secret_name, const std::string& token_name) {
  const auto id = environment(id_name), secret = environment(secret_name), token = environment(token_name);
  if (!id && !secret) return std::nullopt;
  const auto reject = [&](const std::string& found) {
    throw argument_error("read credentials {} and {}: {}; expected both. Set or unset both", id_name, secret_name,
                         found);
  };
  if (!id) reject("a secret without its access key id");
  if (!secret) reject("an access key id without its secret");
  if (has_control(*id + *secret + token.value_or(""))) reject("a control character (a line end, perhaps)");
  return SigningKey{*id, *secret, token.value_or("")};
}

// The first variable that is set; `otherwise` if none is.
std::string first_of(const Environment& environment, std::initializer_list<const char*> names, std::string otherwise) {
  for (const char* name : names) {
    if (auto value = environment(name)) return *std::move(value);
  }
  return otherwise;
}

BucketSettings read_s3(const Environment& environment, const AskHelper& ask) {
  BucketSettings settings;
  settings.key = read_key(environment, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN");
  if (!settings.key) settings = ask(Scheme::kS3);
  settings.region = first_of(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"}, settings.region);
  settings.endpoint_url = first_of(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, settings.endpoint_url);
  return settings;
}

BucketSettings read_gs(const Environment& environment, const AskHelper& ask) {
  BucketSettings settings;
  settings.key = read_key(environment, "GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY", "");
  if (!settings.key) settings = ask(Scheme::kGs);
  settings.region = "auto";
  settings.endpoint_url = first_of(environment, {"GS_ENDPOINT_URL"}, "https://storage.googleapis.com");
  settings.addressing_style = "path";
  return settings;
}

BucketSettings read_az(const Environment& environment, const AskHelper& ask) {
  BucketSettings settings;
  settings.query = environment("AZURE_STORAGE_SAS_TOKEN").value_or("");
  if (settings.query.starts_with('?')) settings.query.erase(0, 1);
  if (settings.query.empty()) settings = ask(Scheme::kAz);
  const std::string account = environment("AZURE_STORAGE_ACCOUNT").value_or("");
  if (settings.endpoint_url.empty() && !account.empty()) {
    settings.endpoint_url = "https://" + account + ".blob.core.windows.net";
  }
  settings.endpoint_url = first_of(environment, {"AZURE_STORAGE_SERVICE_ENDPOINT"}, settings.endpoint_url);
  if (settings.endpoint_url.empty()) {
    throw argument_error(
        "open az:// URL: found no storage account; expected its name in AZURE_STORAGE_ACCOUNT, or "
        "AZURE_STORAGE_CONNECTION_STRING. Set one of them");
  }
  settings.addressing_style = "path";
  return settings;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

BucketSettings read_bucket_settings(Scheme scheme, const Environment& environment, const AskHelper& ask) {
  if (scheme == Scheme::kGs) return read_gs(environment, ask);
  if (scheme == Scheme::kAz) return read_az(environment, ask);
  return read_s3(environment, ask);
}

}  // namespace unstarve::remote
