#pragma once
// Folders that jobs write into, or check, lie on this machine: a URL in their place would quietly make a folder that is
// called "s3:".
//
// Threads: free function. Failure: Error(kArgument).

#include <filesystem>
#include <string>

namespace unstarve {

// Throws when `folder` is written as a URL of any scheme. `verb` stands in front of the message.
void refuse_url_as_folder(const std::string& verb, const std::filesystem::path& folder);

}  // namespace unstarve
