#include "unstarve/jobs/data/synth.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;
namespace fs = std::filesystem;

SynthOptions small(std::uint64_t images = 40) {
  SynthOptions options;
  options.images = images;
  options.size = 32;
  options.threads = 2;
  return options;
}

std::map<std::string, std::string> synth_contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_text_file(entry.path());
  }
  return files;
}

TEST_CASE("synth writes a dataset that opens as an image folder with the right labels") {
  TemporaryFolder folder;
  const SynthResult result = run_synth(folder.path() / "set", small());
  CHECK(result.images == 40);
  CHECK_FALSE(result.already_there);
  const auto data = open_dataset(folder.str("set"));
  REQUIRE(data->size() == 40);
  REQUIRE(data->classes().size() == 10);
  Decoder decoder;
  RecordBuffer record;
  std::uint64_t bytes = 0;
  for (std::uint64_t id = 0; id < 40; ++id) {
    data->read(id, record);
    const ImageHeader header = decoder.open(record.values[0].bytes);
    CHECK(header.encoding == Encoding::kJpeg);
    CHECK(header.size == Size{32, 32});
    bytes += record.values[0].bytes.size();
    // The file is named after its index; labels cycle through the classes.
    CHECK(std::stoi(fs::path(data->location(id)).stem().string()) % 10 == record.values[1].integer);
  }
  CHECK(result.bytes == bytes);
  CHECK_FALSE(fs::exists(folder.path() / "set.partial"));
}

TEST_CASE("the same options give the same bytes for any number of threads") {
  TemporaryFolder folder;
  SynthOptions options = small();
  options.test_images = 10;
  options.threads = 1;
  const SynthResult one = run_synth(folder.path() / "one", options);
  options.threads = 4;
  const SynthResult four = run_synth(folder.path() / "four", options);
  CHECK(one.bytes == four.bytes);
  CHECK(synth_contents(folder.path() / "one") == synth_contents(folder.path() / "four"));
  options.seed = 2;
  (void)run_synth(folder.path() / "other", options);
  CHECK(synth_contents(folder.path() / "one") != synth_contents(folder.path() / "other"));
  CHECK(open_dataset(folder.str("one"), "train")->size() == 40);
  CHECK(open_dataset(folder.str("one"), "test")->size() == 10);
}

TEST_CASE("photographs have the given longer side and typical aspect ratios") {
  TemporaryFolder folder;
  SynthOptions options = small(30);
  options.size = 120;
  (void)run_synth(folder.path() / "set", options);
  const auto data = open_dataset(folder.str("set"));
  Decoder decoder;
  RecordBuffer record;
  int lying = 0;
  int upright = 0;
  for (std::uint64_t id = 0; id < data->size(); ++id) {
    data->read(id, record);
    const Size size = decoder.open(record.values[0].bytes).size;
    CHECK(std::max(size.width, size.height) == 120);
    CHECK(std::min(size.width, size.height) >= 80);
    lying += size.width > size.height;
    upright += size.height > size.width;
  }
  CHECK(upright > 0);
  CHECK(lying > upright);
}

TEST_CASE("progress reaches the end") {
  TemporaryFolder folder;
  double last = -1;
  (void)run_synth(folder.path() / "set", small(), [&](std::string_view, double share) {
    CHECK(share > last);
    last = share;
  });
  CHECK(last == 1);
}

void check_rejected(const fs::path& folder, const SynthOptions& options, const std::string& part,
                    ErrorKind kind = ErrorKind::kArgument) {
  CHECK_THAT(testing::error_message([&] { return run_synth(folder, options); }, kind), Catch::Contains(part));
}

TEST_CASE("a folder with the same dataset is left unchanged, any other folder is rejected") {
  TemporaryFolder folder;
  const fs::path set = folder.path() / "set";
  folder.folder("set");  // an empty folder is fine
  const SynthResult first = run_synth(set, small());
  const auto before = synth_contents(set);
  const SynthResult again = run_synth(folder.str("set") + "/", small());
  CHECK(again.already_there);
  CHECK(again.bytes == first.bytes);
  check_rejected(set, small(50), "contains another synthetic dataset: found images 40; expected images 50");
  CHECK(synth_contents(set) == before);

  folder.write("mine/letter.txt", "dear");
  check_rejected(folder.path() / "mine", small(), "is not empty");
  check_rejected(folder.path() / "mine/letter.txt", small(), "is not a folder");
  CHECK(synth_contents(folder.path() / "mine").size() == 1);
}

TEST_CASE("the partial folder of a stopped run is replaced, other content is not") {
  TemporaryFolder folder;
  folder.write("set.partial/unstarve-synth.json", "{");
  folder.write("set.partial/000-disc-solid/00000.jpg", "half an ima");
  (void)run_synth(folder.path() / "set", small());
  CHECK(synth_contents(folder.path() / "set").size() == 41);
  folder.write("other.partial/letter.txt", "dear");
  check_rejected(folder.path() / "other", small(), "not from an earlier run");
  CHECK(fs::exists(folder.path() / "other.partial/letter.txt"));
}

TEST_CASE("a failing write leaves no files") {
  TemporaryFolder folder;
  folder.write("file", "x");
  check_rejected(folder.path() / "file/set", small(), "file", ErrorKind::kIo);
  // An exception of the caller simulates any failure.
  CHECK_THROWS_AS(run_synth(folder.path() / "set", small(),
                            [](std::string_view, double share) {
                              if (share > 0) throw Error(ErrorKind::kCancelled, "stopped");
                            }),
                  Error);
  CHECK_FALSE(fs::exists(folder.path() / "set"));
  CHECK_FALSE(fs::exists(folder.path() / "set.partial"));
}

TEST_CASE("options out of range are rejected") {
  TemporaryFolder folder;
  const auto with = [](auto change) {
    SynthOptions options = small();
    change(options);
    return options;
  };
  const fs::path set = folder.path() / "set";
  check_rejected(set, with([](SynthOptions& o) { o.classes = 0; }), "0 classes; expected 1 to 1000");
  check_rejected(set, with([](SynthOptions& o) { o.classes = 1001; }), "1001 classes");
  check_rejected(set, with([](SynthOptions& o) { o.images = 9; }),
                 "9 images; expected at least one for each of 10 classes");
  check_rejected(set, with([](SynthOptions& o) { o.size = 7; }), "size 7; expected 8 to 8192");
  check_rejected("", small(), "the folder name is empty");
  CHECK_FALSE(fs::exists(set));
}

}  // namespace
}  // namespace unstarve
