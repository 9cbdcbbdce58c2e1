#pragma once
// Local folders of jobs.
//
// Threads: free functions. Failure: Error(kIo) with the path and the reason.

#include <filesystem>
#include <string>

namespace unstarve {

// Throws Error(kArgument) if `folder` is a URL of any scheme: as a path, "s3://bucket" would create a folder named
// "s3:". The message starts with `command`.
void reject_url_as_folder(const std::string& command, const std::filesystem::path& folder);

// Creates the folder and its parents; existing ones are kept.
void make_folders(const std::filesystem::path& folder);

// rename(2): replaces a file or an empty folder.
void rename_to(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace unstarve
