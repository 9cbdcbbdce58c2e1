#include "unstarve/storage/remote/aws_config.h"

#include <cstdlib>
#include <filesystem>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/storage/remote/text.h"

namespace unstarve::remote {
namespace {

// Configuration files have a few hundred bytes; a larger file is not one.
constexpr std::size_t kLargestIniFile = std::size_t{1} << 20;

using Section = std::map<std::string, std::string>;

std::string value_in(const Section& section, const std::string& name) {
  const auto found = section.find(name);
  return found == section.end() ? std::string() : found->second;
}

IniFile read_ini(const Environment& environment, const char* variable, const char* below_home) {
  std::filesystem::path path;
  if (const auto named = environment(variable)) {
    path = *named;
  } else if (const auto home = environment("HOME")) {
    path = std::filesystem::path(*home) / below_home;
  }
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return {};
  return parse_ini(read_text_file(path), path.string());
}

// The settings of one profile in both files.
struct Profile {
  std::string name;
  bool found = false;
  Section values;    // of both files; `credentials` takes precedence
  Section services;  // of the [services NAME] it refers to
};

Profile read_profile(const Environment& environment) {
  Profile profile;
  const auto named = environment("AWS_PROFILE");
  profile.name = named.value_or("default");
  const IniFile credentials = read_ini(environment, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
  const IniFile config = read_ini(environment, "AWS_CONFIG_FILE", ".aws/config");
  const auto take = [&](const IniFile& file, const std::string& section) {
    const auto found = file.find(section);
    if (found == file.end()) return;
    profile.found = true;
    for (const auto& [name, value] : found->second) profile.values[name] = value;
  };
  if (profile.name == "default") take(config, "default");
  take(config, "profile " + profile.name);
  take(credentials, profile.name);
  const auto services = config.find("services " + value_in(profile.values, "services"));
  if (services != config.end()) profile.services = services->second;
  if (named && !profile.found) {
    throw Error(ErrorKind::kArgument,
                "AWS_PROFILE=" + profile.name + ": no such profile in ~/.aws/credentials or ~/.aws/config");
  }
  return profile;
}

std::optional<SigningKey> key_of(const std::string& id, const std::string& secret, const std::string& token,
                                 const std::string& where) {
  if (id.empty() && secret.empty()) return std::nullopt;
  if (id.empty() || secret.empty()) {
    throw Error(
        ErrorKind::kArgument,
        where + ": " + (id.empty() ? "a secret without its access key id" : "an access key id without its secret"));
  }
  if (has_control(id + secret + token)) {
    throw Error(ErrorKind::kArgument, where + ": a key or token holds a control character (a line end, perhaps)");
  }
  return SigningKey{id, secret, token};
}

std::optional<SigningKey> profile_key(const Profile& profile) {
  const auto key =
      key_of(value_in(profile.values, "aws_access_key_id"), value_in(profile.values, "aws_secret_access_key"),
             value_in(profile.values, "aws_session_token"), "AWS profile " + profile.name);
  if (key) return key;
  for (const char* name : {"role_arn", "sso_session", "sso_start_url", "credential_process", "credential_source"}) {
    if (profile.values.count(name) == 0) continue;
    throw Error(ErrorKind::kArgument,
                "AWS profile " + profile.name + ": it takes its credentials from " + name +
                    ", which is not followed here; run: eval \"$(aws configure export-credentials --profile " +
                    profile.name + " --format env)\"");
  }
  return std::nullopt;
}

std::string first_of(std::initializer_list<std::optional<std::string>> values) {
  for (const auto& value : values)
    if (value && !value->empty()) return *value;
  return {};
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

IniFile parse_ini(std::string_view text, const std::string& file_name) {
  if (text.size() > kLargestIniFile) {
    throw Error(ErrorKind::kInput, "read " + file_name + ": " + std::to_string(text.size()) +
                                       " bytes, at most 1 MiB are expected of a settings file");
  }
  IniFile file;
  Section* section = nullptr;
  std::string parent;  // the name with an empty value, for the indented lines below it
  int line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    const auto reject = [&](const char* reason) {
      throw Error(ErrorKind::kInput, "read " + file_name + ", line " + std::to_string(line_number) + ": " + reason);
    };
    const std::string_view content = trim(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      const std::size_t close = content.find(']');
      if (close == std::string_view::npos) reject("'[' without its ']'");
      section = &file[std::string(trim(content.substr(1, close - 1)))];
      parent.clear();
      continue;
    }
    const std::size_t equals = content.find('=');
    if (section == nullptr) reject("a setting before the first [section]");
    if (equals == std::string_view::npos || equals == 0) reject("expected 'name = value'");
    const std::string name = lower(trim(content.substr(0, equals)));
    const std::string value(trim(content.substr(equals + 1)));
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (indented && !parent.empty()) {
      (*section)[parent + "." + name] = value;
    } else {
      (*section)[name] = value;
      parent = value.empty() ? name : "";
    }
  }
  return file;
}

AwsSettings read_aws_settings(const Environment& environment) {
  AwsSettings settings;
  const Profile profile = read_profile(environment);
  settings.region =
      first_of({environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), value_in(profile.values, "region")});
  settings.endpoint_url =
      first_of({environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL"),
                value_in(profile.services, "s3.endpoint_url"), value_in(profile.values, "endpoint_url")});
  settings.addressing_style = value_in(profile.values, "s3.addressing_style");
  settings.key =
      key_of(environment("AWS_ACCESS_KEY_ID").value_or(""), environment("AWS_SECRET_ACCESS_KEY").value_or(""),
             environment("AWS_SESSION_TOKEN").value_or(""), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  if (!settings.key) settings.key = profile_key(profile);
  return settings;
}

AwsSettings read_gs_settings(const Environment& environment) {
  AwsSettings settings;
  settings.key = key_of(environment("GS_ACCESS_KEY_ID").value_or(""), environment("GS_SECRET_ACCESS_KEY").value_or(""),
                        "", "GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY");
  settings.region = "auto";
  settings.endpoint_url = first_of({environment("GS_ENDPOINT_URL"), "https://storage.googleapis.com"});
  settings.addressing_style = "path";
  return settings;
}

}  // namespace unstarve::remote
