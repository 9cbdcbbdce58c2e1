// Modules that cannot be loaded. train/trainer_module_test.cpp and storage/formats/parquet load real ones.
#include "unstarve/core/module_loader.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>

#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

// Folders of packages in a temporary folder; the path of packages is empty again at the end.
class Packages {
 public:
  Packages() {
    std::string name = (fs::temp_directory_path() / "unstarve-module-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~Packages() {
    set_package_path({});
    fs::remove_all(root_);
  }

  fs::path add(const std::string& folder, const std::string& metadata) const {
    fs::create_directories(root_ / folder / metadata);
    return root_ / folder;
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

constexpr std::array<const char*, 1> kLibraries = {"numbers/lib/libnumbers.so"};
constexpr Module kModule{"libno_such_module.so", "entry", "1-a", "numbers", "2.1", "arithmetic", kLibraries};

std::string module_error(const Module& module) {
  return testing::error_message([&] { (void)load_module(module, "count sheep"); }, ErrorKind::kMissing);
}

TEST_CASE("a package of another version is named with its folder, the supported versions and the command") {
  const Packages packages;
  const fs::path empty = packages.add("empty", "other-2.1.dist-info");
  for (const char* version : {"1.9", "2.0.9", "2.10.0", "3.0", "2"}) {
    const fs::path folder = packages.add(version, "numbers-" + std::string(version) + ".dist-info");
    set_package_path({packages.root() / "none", empty, folder});
    CHECK(module_error(kModule) ==
          "count sheep: found numbers " + std::string(version) + " in " + folder.string() +
              "; expected numbers 2.1.*. Run: pip install 'unstarve[arithmetic]'   (in a source "
              "tree: make setup)");
  }
}

TEST_CASE("the first folder of the path that has the package decides") {
  const Packages packages;
  const fs::path old = packages.add("old", "numbers-1.0.dist-info");
  const fs::path good = packages.add("good", "numbers-2.1.3+cpu.dist-info");
  set_package_path({old, good});
  CHECK_THAT(module_error(kModule), Contains("found numbers 1.0"));
  set_package_path({good, old});
  CHECK_THAT(module_error(kModule), Contains("the libraries of numbers 2.1.3+cpu in " + good.string() +
                                             " cannot be loaded: " + (good / kLibraries[0]).string()));
}

TEST_CASE("a supported package without the module's library is reported with the reason of the dynamic loader") {
  const Packages packages;
  const fs::path folder = packages.add("there", "numbers-2.1.dist-info");
  fs::create_directories(folder / "numbers/lib");
  std::ofstream(folder / kLibraries[0]) << "not a library";
  set_package_path({folder});
  CHECK_THAT(module_error(kModule), Contains("libnumbers.so: ") && Contains("expected numbers 2.1.*"));
}

TEST_CASE("a missing module is reported by name") {
  CHECK_THAT(module_error(kModule), Contains("count sheep: libno_such_module.so: cannot open shared object file") &&
                                        Contains("Build or install both together"));
}

TEST_CASE("a file that is not in the run path is not found") {
  CHECK(find_module("libunstarve_no_such_module.so").empty());
}

TEST_CASE("a library that is not a module is rejected") {
  Dl_info found;
  REQUIRE(::dladdr(reinterpret_cast<const void*>(&::abort), &found) != 0);
  Module module = kModule;
  module.file = found.dli_fname;
  CHECK_THAT(module_error(module), Contains(std::string(found.dli_fname) + " is another library: it has no entry"));
}

}  // namespace
}  // namespace unstarve
