#include "unstarve/core/temporary_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <system_error>

namespace unstarve {
namespace {

constexpr std::string_view kRandom = "-XXXXXX";
constexpr std::chrono::seconds kYoung{60};  // its process may not have locked it yet

FileDescriptor open_folder(const std::filesystem::path& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_old_and_ours(const FileDescriptor& folder) {
  struct stat status {};
  if (!folder.valid() || ::fstat(folder.get(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  const auto made = std::chrono::system_clock::from_time_t(status.st_mtime);
  return std::chrono::system_clock::now() - made > kYoung;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / name).string().append(kRandom);
  if (::mkdtemp(path.data()) == nullptr) return;
  path_ = path;
  lock_ = open_folder(path_);
  if (lock_.valid()) (void)::flock(lock_.get(), LOCK_EX | LOCK_NB);  // released when the process ends
}

void TemporaryFolder::remove() const {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

void TemporaryFolder::remove_abandoned(const std::string& name) {
  std::error_code error;
  std::filesystem::directory_iterator entries(std::filesystem::temp_directory_path(error), error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string found = entries->path().filename().string();
    if (found.size() != name.size() + kRandom.size() || !found.starts_with(name + "-")) continue;
    const FileDescriptor folder = open_folder(entries->path());
    if (!is_old_and_ours(folder)) continue;
    const FileLock lock(folder.get(), LOCK_EX | LOCK_NB);
    std::error_code none;
    if (lock.held()) std::filesystem::remove_all(entries->path(), none);
  }
}

}  // namespace unstarve
