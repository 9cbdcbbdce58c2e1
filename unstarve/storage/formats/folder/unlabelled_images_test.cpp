#include "unstarve/storage/formats/folder/unlabelled_images.h"

#include <filesystem>
#include <string>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;

TEST_CASE("a folder of images without class folders is opened without labels") {
  const TemporaryFolder folder;
  folder.write("b.PNG", "b");
  folder.write("a, b.jpg", "a");
  folder.write("notes.txt", "x");
  folder.write(".hidden.jpg", "x");
  const auto data = open_dataset(folder.str());
  CHECK(data->format() == "images");
  REQUIRE(data->size() == 2);
  CHECK(data->field_index(FieldKind::kLabel) == -1);
  CHECK(data->classes().empty());
  CHECK(data->location(0) == folder.str("a, b.jpg"));
  CHECK(data->location(1) == folder.str("b.PNG"));
  CHECK(read_all(*data)[1].image == std::vector<std::uint8_t>{'b'});
  CHECK_THAT(error_message([&] { return open_dataset(folder.str(), "train"); }, ErrorKind::kArgument),
             Catch::Contains("no split 'train'"));
}

TEST_CASE("one image, or several of a pattern, are opened without labels") {
  const std::string images = fixture("images").string();
  CHECK(open_dataset(images + "/3.jpg")->size() == 1);
  CHECK(open_dataset(images + "/3.jpg")->location(0) == images + "/3.jpg");
  const auto some = open_dataset(images + "/[13].jpg");
  REQUIRE(some->size() == 2);
  const std::string third = fixture_image(3);
  CHECK(read_all(*some)[1].image == std::vector<std::uint8_t>(third.begin(), third.end()));
}

TEST_CASE("other formats in a folder of images take precedence") {
  const TemporaryFolder folder;
  folder.write("preview.jpg", "x");
  std::filesystem::copy(fixture("webdataset/cls.tar"), folder.path() / "train.tar");
  CHECK(open_dataset(folder.str())->format() == "webdataset");
  const TemporaryFolder classes;
  classes.write("preview.jpg", "x");
  classes.write("cat/1.jpg", "y");
  CHECK(open_dataset(classes.str())->format() == "image folder");
}

TEST_CASE("images without labels pass the conformance suite") {
  const TemporaryFolder folder;
  const auto name = [](std::uint64_t id) { return std::to_string(id) + ".jpg"; };
  DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    std::filesystem::remove_all(folder.path() / "set");
    folder.folder("set");
    for (std::uint64_t id = 0; id < samples; ++id) folder.write("set/" + name(id), "image " + std::to_string(id));
    return open_dataset(folder.str("set"));
  };
  test.damage = [&](std::uint64_t id) {
    const std::string path = open_dataset(folder.str("set"))->location(id);
    std::filesystem::resize_file(path, 0);
    return path + ": the file is empty";
  };
  test.labels = false;
  check_dataset(test);
}

}  // namespace
}  // namespace unstarve
