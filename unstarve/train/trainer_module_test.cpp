#include "unstarve/train/trainer_module.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "unstarve/core/file.h"
#include "unstarve/core/module_loader.h"
#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "unstarve-module-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The module `file` as this program requires it.
Module module_at(const char* file) {
  return {file, "unstarve_trainer_module", trainer_module().stamp, "torch", "", "torch", {}};
}

std::string module_error(const fs::path& file) {
  return testing::error_message([&] { (void)load_module(module_at(file.c_str()), "train"); }, ErrorKind::kMissing);
}

// The file of the loaded module.
fs::path module_file() {
  Dl_info found;
  REQUIRE(::dladdr(&trainer_module(), &found) != 0);
  return found.dli_fname;
}

}  // namespace

TEST_CASE("the module of the build folder is loaded once") {
  CHECK(module_file().filename() == "libunstarve_torch.so");
  CHECK(load_module(module_at("libunstarve_torch.so"), "train") == &trainer_module());
  CHECK(trainer_module().libtorch().problem.empty());
  CHECK(libtorch_facts().version == trainer_module().libtorch().version);
}

TEST_CASE("a damaged module is rejected by name") {
  const TemporaryFolder folder;
  const fs::path text = folder.path() / "text.so";
  write_file_atomically(text, "no library", Durability::kRenamed);
  CHECK_THAT(module_error(text), Catch::Contains("train: " + text.string() + ": "));
}

TEST_CASE("a module of another build is not called") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const std::string stamp = trainer_module().stamp;
  std::string bytes = read_text_file(module_file());
  const std::size_t at = bytes.find(stamp);
  REQUIRE(at != std::string::npos);
  std::string other = stamp;
  other.back() = other.back() == '0' ? '1' : '0';
  bytes.replace(at, other.size(), other);
  const fs::path copy = folder.path() / "other.so";
  write_file_atomically(copy, bytes, Durability::kRenamed);
  CHECK_THAT(module_error(copy), Contains(copy.string() + " belongs to another build (" + other + ")") &&
                                     Contains("this program (" + stamp + ")"));
}

}  // namespace unstarve
