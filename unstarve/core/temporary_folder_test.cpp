#include "unstarve/core/temporary_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "unstarve-folder-test";

void make_old(const fs::path& folder) {
  const timespec hour_ago{::time(nullptr) - 3600, 0};
  const timespec times[2] = {hour_ago, hour_ago};
  REQUIRE(::utimensat(AT_FDCWD, folder.c_str(), times, 0) == 0);
}

// The folder of a process that was killed.
fs::path abandoned() {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder folder(kName);
    const std::string path = folder.path().string();
    (void)!::write(ends[1], path.data(), path.size());
    ::raise(SIGKILL);
  }
  ::close(ends[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  std::string path(4096, '\0');
  const ssize_t size = ::read(ends[0], path.data(), path.size());
  ::close(ends[0]);
  REQUIRE(size > 0);
  path.resize(static_cast<std::size_t>(size));
  return path;
}

TEST_CASE("a temporary folder is removed with its files") {
  fs::path path;
  {
    const TemporaryFolder folder(kName);
    path = folder.path();
    CHECK(fs::is_directory(path));
    CHECK((fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none);
    std::ofstream(path / "file") << "x";
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("folders of killed processes are removed, those of others are not") {
  const fs::path old = abandoned(), young = abandoned();
  const TemporaryFolder alive(kName), other(std::string(kName) + "-2");
  for (const fs::path& folder : {old, alive.path(), other.path()}) make_old(folder);
  TemporaryFolder::remove_abandoned(kName);
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(young));
  CHECK(fs::exists(alive.path()));
  CHECK(fs::exists(other.path()));
  make_old(young);
  TemporaryFolder::remove_abandoned(kName);
  CHECK_FALSE(fs::exists(young));
}

}  // namespace
}  // namespace unstarve
