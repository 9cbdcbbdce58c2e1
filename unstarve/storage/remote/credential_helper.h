#pragma once
// Credentials by the providers' own Python packages: botocore for s3, google-auth for gs, azure-identity and
// azure-storage-blob for az. They contain the documented chains: profiles, roles, SSO, web identities, container and
// instance metadata, credential_process; application-default credentials; Azure's default chain.
//
//   ask_credential_helper() ──▶ python -c credentials.py STORE ──one line of JSON──▶ BucketSettings
//
// The interpreter is python_interpreter() of core/module_loader.h.
// Threads: any; waits for the process. Cost: 0.2 to 2 s, at most 120 s.
// Failure: Error(kArgument) with the package's reason if credentials are configured but cannot be obtained. If none are
//          configured, or the package is not installed, why_unsigned is set.

#include <string>
#include <string_view>

#include "unstarve/storage/remote/bucket_settings.h"

namespace unstarve::remote {

[[nodiscard]] BucketSettings ask_credential_helper(Scheme scheme);

// The settings in what the helper has printed: the last line that begins with '{'. `operation` begins messages.
[[nodiscard]] BucketSettings parse_helper_output(std::string_view output, const std::string& operation);

// Text of credentials.py; the build generates it.
[[nodiscard]] std::string_view credentials_program();

}  // namespace unstarve::remote
