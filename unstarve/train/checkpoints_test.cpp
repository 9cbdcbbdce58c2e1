#include "unstarve/train/checkpoints.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "unstarve/core/file.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Writes its text, or fails as a full disk does.
class TextSnapshot final : public TrainSnapshot {
 public:
  explicit TextSnapshot(std::string text) : text_(std::move(text)) {}
  void write(const fs::path& path) const override {
    if (text_ == "NaN") throw Error(ErrorKind::kCheck, "write " + path.string() + ": NaN");
    if (text_ == "fail") throw Error(ErrorKind::kIo, "write " + path.string() + ": No space left on device");
    write_file_atomically(path, text_);
  }

 private:
  std::string text_;
};

std::unique_ptr<TrainSnapshot> snapshot(std::string text) { return std::make_unique<TextSnapshot>(std::move(text)); }

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("unstarve-checkpoints-test-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) names.insert(entry.path().filename().string());
    return names;
  }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("a folder keeps the newest checkpoints and files of others") {
  const Folder folder;
  fs::create_directories(folder.path());
  write_file_atomically(folder.path() / "step-notes.txt", "");
  Checkpoints checkpoints({folder.path(), {}, 2});
  CHECK(checkpoints.newest().empty());
  for (const std::int64_t step : {8, 90, 100, 123456789}) checkpoints.write(snapshot(std::to_string(step)), step);
  checkpoints.finish();
  CHECK(folder.names() ==
        std::set<std::string>{"step-00000100.safetensors", "step-123456789.safetensors", "step-notes.txt"});
  CHECK(checkpoints.newest() == folder.path() / "step-123456789.safetensors");
  CHECK(newest_checkpoint(folder.path()) == checkpoints.newest());
  CHECK(read_text_file(checkpoints.newest()) == "123456789");
}

TEST_CASE("folder and file are both written") {
  const Folder folder;
  Checkpoints checkpoints({folder.path() / "all", folder.path() / "newest.safetensors", 1});
  checkpoints.write(snapshot("one"), 1);
  checkpoints.write(snapshot("two"), 2);
  checkpoints.finish();
  CHECK(read_text_file(folder.path() / "newest.safetensors") == "two");
  CHECK(fs::exists(folder.path() / "all" / "step-00000002.safetensors"));
  CHECK_FALSE(fs::exists(folder.path() / "all" / "step-00000001.safetensors"));
}

TEST_CASE("a failed write keeps the earlier checkpoint and is reported; the next write may succeed") {
  const Folder folder;
  std::vector<std::string> notices;
  Checkpoints checkpoints({folder.path(), {}, 1}, [&](const std::string& text) { notices.push_back(text); });
  checkpoints.write(snapshot("good"), 1);
  checkpoints.write(snapshot("fail"), 2);
  CHECK(checkpoints.newest() == folder.path() / "step-00000001.safetensors");
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0],
             Catch::Contains("No space left") && Catch::Contains("the newest is") && Catch::Contains("step-00000001"));
  CHECK_THROWS_WITH(checkpoints.finish(), Catch::Contains("No space left"));
  checkpoints.write(snapshot("good"), 3);
  CHECK_NOTHROW(checkpoints.finish());
  CHECK(folder.names() == std::set<std::string>{"step-00000003.safetensors"});
}

TEST_CASE("a state with NaN ends the writes") {
  const Folder folder;
  std::vector<std::string> notices;
  Checkpoints checkpoints({folder.path(), {}, 1}, [&](const std::string& text) { notices.push_back(text); });
  checkpoints.write(snapshot("good"), 1);
  checkpoints.write(snapshot("NaN"), 2);
  CHECK_THROWS_WITH(checkpoints.write(snapshot("good"), 3), Catch::EndsWith("step-00000002.safetensors: NaN"));
  CHECK_THROWS_WITH(checkpoints.finish(), Catch::EndsWith("NaN"));
  CHECK(notices.empty());
  CHECK(checkpoints.newest() == folder.path() / "step-00000001.safetensors");
}

TEST_CASE("a resumed run continues in the resumed folder, after its newest checkpoint only") {
  const Folder folder;
  fs::create_directories(folder.path());
  const fs::path older = folder.path() / "step-00000001.safetensors",
                 newest = folder.path() / "step-00000002.safetensors";
  for (const fs::path& file : {older, newest}) write_file_atomically(file, "");
  CHECK(folder_of_resumed("").empty());
  CHECK(folder_of_resumed("model.safetensors").empty());
  CHECK(folder_of_resumed(folder.path()) == folder.path());
  CHECK(folder_of_resumed(older).empty());
  CHECK(folder_of_resumed(newest) == folder.path());
  CHECK(checkpoint_to_resume(folder.path(), folder.path()) == newest);
  CHECK(checkpoint_to_resume(folder.path(), newest) == newest);
  CHECK_THROWS_WITH(checkpoint_to_resume(folder.path(), older),
                    Catch::Contains("nor newer ones than " + older.string()));
  CHECK(checkpoint_to_resume("", older) == older);
}

TEST_CASE("a folder without checkpoints, or no folder, cannot be resumed from") {
  const Folder folder;
  CHECK_THROWS_WITH(newest_checkpoint(folder.path()), Catch::Contains("list checkpoints"));
  fs::create_directories(folder.path());
  CHECK_FALSE(has_checkpoint(folder.path()));
  CHECK_THAT(how_to_continue(""), Catch::Contains("use --checkpoint-dir"));
  CHECK(how_to_continue(folder.path()) == folder.path().string() + " has no checkpoint yet to continue from");
  for (const char* name : {"step-.safetensors", "step-x.safetensors", "step-1.tmp", "step--1.safetensors"})
    write_file_atomically(folder.path() / name, "");
  CHECK_THROWS_WITH(newest_checkpoint(folder.path()), Catch::Contains("no checkpoint") && Catch::Contains("step-"));
}

TEST_CASE("weights are a file, or the newest checkpoint of a folder") {
  const Folder folder;
  CHECK(weights_file("") == "");
  CHECK(weights_file("missing.safetensors") == "missing.safetensors");
  fs::create_directories(folder.path());
  CHECK_THROWS_WITH(weights_file(folder.path()), Catch::Contains("found no checkpoint; expected a file step-N"));
  write_file_atomically(folder.path() / "model.safetensors", "");
  CHECK_THROWS_WITH(weights_file(folder.path()),
                    Catch::Contains(". Pass " + (folder.path() / "model.safetensors").string()));
  for (const char* name : {"step-00000009.safetensors", "step-00000010.safetensors"})
    write_file_atomically(folder.path() / name, "");
  CHECK(weights_file(folder.path()) == folder.path() / "step-00000010.safetensors");
}

}  // namespace unstarve
