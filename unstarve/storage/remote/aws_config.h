#pragma once
// Credentials and endpoint from the settings of the AWS tools: the environment first, then the profile's sections in
// ~/.aws/credentials and ~/.aws/config.
//
//   key       AWS_ACCESS_KEY_ID + AWS_SECRET_ACCESS_KEY [+ AWS_SESSION_TOKEN], else those of the profile
//   region    AWS_REGION, else AWS_DEFAULT_REGION, else `region`
//   endpoint  AWS_ENDPOINT_URL_S3, else AWS_ENDPOINT_URL, else endpoint_url of the profile's [services NAME] for s3,
//             else `endpoint_url`
//   style     addressing_style under `s3 =`: auto, path or virtual
//   files     AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name others
//   profile   AWS_PROFILE, else "default"
//
// Roles, SSO, web identities, instance metadata and credential_process are not supported. For a profile with only those
// an Error with instructions is thrown; the request is not sent unsigned.
//
// Threads: pure functions, apart from reading the files and the environment.
// Failure: Error(kInput) with file and line, but never the text of the line; Error(kArgument) for half a key pair or
//          for a profile that was named but does not exist.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "unstarve/storage/remote/sigv4.h"

namespace unstarve::remote {

// The value of an environment variable; nothing if it is unset or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] Environment process_environment();

// section -> name -> value. An indented line under `s3 =` is named "s3.<its name>". Repeated sections are merged; the
// last value of a name is used.
using IniFile = std::map<std::string, std::map<std::string, std::string>>;
[[nodiscard]] IniFile parse_ini(std::string_view text, const std::string& file_name);

struct AwsSettings {
  std::optional<SigningKey> key;  // nothing: anonymous
  std::string region;             // empty: not set anywhere
  std::string endpoint_url;       // empty: Amazon's
  std::string addressing_style;   // empty, "auto", "path" or "virtual"
};
[[nodiscard]] AwsSettings read_aws_settings(const Environment& environment);

// GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY; GS_ENDPOINT_URL, else Google's.
[[nodiscard]] AwsSettings read_gs_settings(const Environment& environment);

}  // namespace unstarve::remote
