#pragma once
// A folder for temporary files of this process, which are removed with it, also after the process was killed.
//
// Threads: any. Failure: none is thrown.

#include <filesystem>
#include <string>

#include "unstarve/core/file_descriptor.h"

namespace unstarve {

// "NAME-XXXXXX" in the folder of the system for temporary files, readable by this user. The destructor removes it with
// its files. If it cannot be made, its path is empty.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void remove() const;

  // Removes folders of this name and user whose processes have ended without doing so, a minute after they were made.
  static void remove_abandoned(const std::string& name);

 private:
  std::filesystem::path path_;
  FileDescriptor lock_;  // the folder, locked while the process lives
};

}  // namespace unstarve
