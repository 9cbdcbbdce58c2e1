#include "unstarve/jobs/data/inspect.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/testing/jpeg_bomb.h"
#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/formats/synthetic/synthetic_image.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/tar_text.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;

std::vector<std::uint8_t> jpeg(std::uint64_t id, Size size) {
  Image image;
  draw_synthetic({1, 10}, id, size, image);
  return encode_jpeg(image.view(), 90);
}

// Four good images and five bad ones.
void fill_folder(const TemporaryFolder& folder) {
  const auto photo = jpeg(1, {120, 90});
  folder.write("set/cat/1.jpg", photo);
  folder.write("set/cat/2.jpg", jpeg(2, {40, 30}));
  folder.write("set/cat/3_random.jpg", std::string(500, 'r'));
  folder.write("set/cat/4_empty.jpg", "");
  folder.write("set/dog/1_cut.jpg", std::span(photo).first(photo.size() / 2));
  folder.write("set/dog/2.jpg", jpeg(3, {60, 80}));
  folder.write("set/dog/3_lost.jpg", "x");
  Image image;
  draw_synthetic({1, 10}, 4, {16, 16}, image);
  folder.write("set/dog/4.PNG", encode_png(image.view()));
  folder.write("set/dog/5_bomb.jpg", jpeg_bomb(photo));
  std::filesystem::remove(folder.path() / "set/dog/3_lost.jpg");
  std::filesystem::create_symlink(folder.str("nowhere"), folder.str("set/dog/3_lost.jpg"));
}

InspectResult inspect(const std::string& path, int threads = 0, const Progress& progress = {}) {
  return inspect_dataset(*open_dataset(path), path, threads, progress);
}

// A dataset whose storage fails.
class OutageData final : public Dataset {
 public:
  explicit OutageData(std::shared_ptr<const Dataset> data) : data_(std::move(data)) {}
  std::string format() const override { return data_->format(); }
  std::uint64_t size() const override { return data_->size(); }
  const std::vector<Field>& fields() const override { return data_->fields(); }
  const std::vector<std::string>& classes() const override { return data_->classes(); }
  std::uint64_t stored_bytes() const override { return data_->stored_bytes(); }
  RecordLocation record_location(std::uint64_t id) const override { return data_->record_location(id); }
  void read(std::uint64_t id, RecordBuffer& record) const override {
    if (id == size() - 1) throw Error(ErrorKind::kIo, "read " + location(id) + ": connection refused");
    data_->read(id, record);
  }

 private:
  std::shared_ptr<const Dataset> data_;
};

TEST_CASE("a failure of the storage ends inspect, because the record is not corrupt") {
  TemporaryFolder folder;
  fill_folder(folder);
  const OutageData data(open_dataset(folder.str("set")));
  CHECK_THROWS_WITH(inspect_dataset(data, folder.str("set"), 2), Catch::Contains("connection refused"));
}

TEST_CASE("inspect finds every unusable record, with location and reason") {
  TemporaryFolder folder;
  fill_folder(folder);
  const InspectResult result = inspect(folder.str("set"), 3);
  CHECK(result.format == "image folder");
  CHECK(result.samples == 9);
  REQUIRE(result.classes.size() == 2);
  CHECK(result.classes[0].name == "cat");
  CHECK(result.classes[0].samples == 3);  // the label of the empty file was not read
  CHECK(result.classes[1].samples == 4);
  CHECK(result.sizes.smallest == Size{16, 16});
  CHECK(result.sizes.median == Size{40, 30});
  CHECK(result.sizes.largest == Size{120, 90});
  CHECK(result.encodings == std::map<std::string, std::uint64_t>{{"jpeg", 3}, {"png", 1}});

  REQUIRE(result.corrupt.size() == 5);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"cat/3_random.jpg", "not a JPEG, PNG or WebP"},
      {"cat/4_empty.jpg", "empty"},
      {"dog/1_cut.jpg", ""},
      {"dog/3_lost.jpg", "No such file"},
      {"dog/5_bomb.jpg",
       "jpeg too large: 60000 x 60000 pixels; expected at most the decoder's pixel limit of 268435456; scale it down"}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(to_string(result.corrupt[i].location) == folder.str("set/" + expected[i].first));
    CHECK_THAT(result.corrupt[i].reason, Catch::Contains(expected[i].second));
    CHECK_FALSE(result.corrupt[i].reason.empty());
    CHECK((i == 0 || result.corrupt[i - 1].id < result.corrupt[i].id));
  }
}

TEST_CASE("the result does not depend on the number of threads") {
  TemporaryFolder folder;
  fill_folder(folder);
  CHECK(to_json(inspect(folder.str("set"), 1)) == to_json(inspect(folder.str("set"), 4)));
}

TEST_CASE("bytes are those of the records") {
  TemporaryFolder folder;
  const auto a = jpeg(1, {32, 32});
  const auto b = jpeg(2, {32, 32});
  folder.write("set/x/a.jpg", a);
  folder.write("set/x/b.jpg", b);
  CHECK(inspect(folder.str("set")).bytes == a.size() + b.size());
  CHECK(inspect("synthetic:images=50,size=16").bytes == 50 * 16 * 16 * 3);
}

TEST_CASE("datasets of raw pixels are inspected") {
  TemporaryFolder folder;
  std::string bytes;
  for (const int label : {3, 10, 9}) bytes += static_cast<char>(label) + std::string(3072, 'x');
  folder.write("data_batch_1.bin", bytes);
  const InspectResult result = inspect(folder.str());
  CHECK(result.format == "cifar-10 binary");
  CHECK(result.bytes == 3 * 3073);
  CHECK(result.encodings == std::map<std::string, std::uint64_t>{{"raw", 2}});
  REQUIRE(result.corrupt.size() == 1);
  CHECK(result.corrupt[0].id == 1);
  CHECK_THAT(result.corrupt[0].reason, Catch::Contains("label 10 at offset 3073 is out of range"));
  CHECK(result.classes.at(3).samples == 1);
}

TEST_CASE("a file truncated while reading is reported as shortened, not as damaged") {
  TemporaryFolder folder;
  testing::TarText tar;
  for (int i = 0; i < 20; ++i) {
    const auto image = jpeg(i, {120, 90});
    tar.file(std::to_string(i) + ".jpg", std::string(image.begin(), image.end()));
  }
  folder.write("x.tar", tar.end());
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += '\1' + std::string(3072, 'x');
  folder.write("cifar/data_batch_1.bin", bytes);
  for (const std::string path : {"x.tar", "cifar/data_batch_1.bin"}) {
    const auto data = open_dataset(folder.str(path));
    REQUIRE(inspect_dataset(*data, path).corrupt.empty());
    std::filesystem::resize_file(folder.path() / path, 8192);
    try {
      (void)inspect_dataset(*data, path, 2);
      FAIL("inspect found no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kIo);
      CHECK_THAT(error.what(), Catch::Contains(path) && Catch::Contains("was shortened"));
    }
  }
}

TEST_CASE("progress reaches the end and may stop the work") {
  double last = -1;
  (void)inspect("synthetic:images=100,size=16", 2, [&](std::string_view, double share) {
    CHECK(share > last);
    last = share;
  });
  CHECK(last == 1);
  CHECK_THROWS_AS(inspect("synthetic:images=100,size=16", 2,
                          [](std::string_view, double) { throw Error(ErrorKind::kCancelled, "stopped"); }),
                  Error);
}

TEST_CASE("the JSON contains the documented keys") {
  TemporaryFolder folder;
  fill_folder(folder);
  folder.write("set/dog/6_\xFF.jpg", "not UTF-8");
  const auto json = parse_json(to_json(inspect(folder.str("set"))));
  CHECK(json["format"] == "image folder");
  CHECK(json["samples"] == 10);
  CHECK(json["classes"] == 2);
  CHECK(json["class_counts"][1] == nlohmann::json({{"name", "dog"}, {"samples", 5}}));
  CHECK(json["sizes"]["largest"] == nlohmann::json::array({120, 90}));
  CHECK(json["corrupt"].size() == 6);
  CHECK(json["corrupt"][0]["location"] == folder.str("set/cat/3_random.jpg"));
  CHECK(json["corrupt"][0]["id"] == 2);

  folder.write("bad/x/1.jpg", "x");
  const auto nothing = parse_json(to_json(inspect(folder.str("bad"))));
  CHECK(nothing["sizes"]["median"].is_null());
  CHECK(nothing["corrupt"].size() == 1);
}

TEST_CASE("the text is short and safe for a terminal") {
  TemporaryFolder folder;
  fill_folder(folder);
  folder.write("set/dog/\x1b[31m.jpg", "escape");
  const std::string text = to_text(inspect(folder.str("set")), 2);
  CHECK_THAT(text, Catch::Contains("samples    10\n") && Catch::Contains("corrupt    6\n"));
  CHECK_THAT(text, Catch::Contains("16 x 16 smallest, 40 x 30 median, 120 x 90 largest"));
  CHECK_THAT(text, Catch::Contains("... and 4 more"));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(to_text(inspect(folder.str("set"))), Catch::Contains("?[31m.jpg"));
}

}  // namespace
}  // namespace unstarve
