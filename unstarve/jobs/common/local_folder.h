#pragma once
// Checks that a folder argument is local: as a path, the URL "s3://bucket" would create a folder named "s3:".
//
// Threads: free function. Failure: Error(kArgument).

#include <filesystem>
#include <string>

namespace unstarve {

// Throws if `folder` is a URL of any scheme. The message starts with `verb`.
void refuse_url_as_folder(const std::string& verb, const std::filesystem::path& folder);

}  // namespace unstarve
