#include "unstarve/train/trainer_module.h"

#include <link.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <string>

#include "unstarve/core/file.h"
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

std::string module_error(const std::vector<fs::path>& paths) {
  return testing::error_message([&] { (void)load_trainer_module(paths); }, ErrorKind::kMissing);
}

// A library of this process that is not a training module.
fs::path other_library() {
  fs::path found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        if (std::string_view(info->dlpi_name).find("libstdc++") == std::string_view::npos) return 0;
        *static_cast<fs::path*>(into) = info->dlpi_name;
        return 1;
      },
      &found);
  return found;
}

}  // namespace

TEST_CASE("the module is next to the program and belongs to this build") {
  const std::vector<fs::path> paths = trainer_module_paths();
  REQUIRE(paths.size() == 2);
  CHECK(fs::exists(paths[0]));
  CHECK(paths[0].filename() == paths[1].filename());
  CHECK(paths[0].filename() == "libunstarve_torch.so");
  CHECK(paths[1].parent_path().filename() == "unstarve");
  const TrainerModule& module = load_trainer_module(paths);
  CHECK(&module == &trainer_module());
  CHECK(module.libtorch().problem.empty());
  CHECK(libtorch_facts().version == module.libtorch().version);
}

TEST_CASE("a missing module is reported with the paths and the remedy") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const fs::path first = folder.path() / "a.so", second = folder.path() / "lib" / "b.so";
  CHECK_THAT(module_error({first, second}), Contains("libunstarve_torch.so") &&
                                                Contains(first.string() + " and " + second.string()) &&
                                                Contains("cmake --install"));
}

TEST_CASE("a file that is not a module is rejected by name, and later paths are not tried") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const fs::path text = folder.path() / "text.so";
  write_file_atomically(text, "no library", Durability::kRenamed);
  CHECK_THAT(module_error({folder.path() / "none.so", text, trainer_module_paths()[0]}),
             Contains(text.string() + ", but it cannot be loaded") && Contains("LD_LIBRARY_PATH"));
  const fs::path library = other_library();
  REQUIRE_FALSE(library.empty());
  CHECK_THAT(module_error({library}), Contains(library.string()) && Contains("has no unstarve_trainer_module"));
}

TEST_CASE("a module of another build is not called") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const std::string stamp = trainer_module().stamp;
  std::string bytes = read_text_file(trainer_module_paths()[0]);
  const std::size_t at = bytes.find(stamp);
  REQUIRE(at != std::string::npos);
  std::string other = stamp;
  other.back() = other.back() == '0' ? '1' : '0';
  bytes.replace(at, other.size(), other);
  const fs::path copy = folder.path() / "other.so";
  write_file_atomically(copy, bytes, Durability::kRenamed);
  CHECK_THAT(module_error({copy}),
             Contains("another build (" + other + ")") && Contains("this program (" + stamp + ")"));
}

}  // namespace unstarve
