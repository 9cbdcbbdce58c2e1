#include "unstarve/storage/formats/cifar/cifar_python.h"

#include <filesystem>
#include <string>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using namespace std::string_literals;
using namespace unstarve::testing;
namespace fs = std::filesystem;

// The pixels that tests/fixtures/formats/make.py writes: byte `index` of image `number`, plane by plane.
int fixture_pixel(int number, int index) { return ((number * 3072 + index) * 7 + number * 31) % 256; }

void check_image(const Dataset& data, std::uint64_t id, int number, std::int64_t label) {
  RecordBuffer record;
  data.read(id, record);
  const PixelView& view = record.values.at(0).pixels;
  REQUIRE(view.size() == Size{32, 32});
  for (const auto& [x, y] : {std::pair(0, 0), std::pair(31, 0), std::pair(3, 17), std::pair(31, 31)})
    for (int c = 0; c < kChannels; ++c) CHECK(view.at(x, y, c) == fixture_pixel(number, c * 1024 + y * 32 + x));
  CHECK(record.values.at(1).integer == label);
  CHECK(data.known_label(id) == label);
}

// A batch as Python 2 pickles it, whose image i has the bytes i + 1.
std::string batch_of(std::uint64_t images) {
  const auto number = [](std::uint64_t value) {
    return "M"s + static_cast<char>(value % 256) + static_cast<char>(value / 256);
  };
  std::string labels, pixels;
  for (std::uint64_t i = 0; i < images; ++i) {
    labels += "K"s + static_cast<char>(i % 10);
    pixels += std::string(3072, static_cast<char>(i + 1));
  }
  std::string length;
  for (int i = 0; i < 4; ++i) length += static_cast<char>(pixels.size() >> 8 * i & 255);
  return "\x80\x02}(U\x06labels](" + labels + "eU\x04" +
         "datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"s + "K\0\x85U\x01"s + "b\x87R(K\x01"s +
         number(images) + number(3072) + "\x86" + "cnumpy\ndtype\nU\x02u1K\0K\x01"s +
         "\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89T"s + length + pixels + "tbu.";
}

std::string opening_error(const std::string& path, ErrorKind kind = ErrorKind::kInput, const std::string& split = "") {
  return error_message([&] { return open_dataset(path, split); }, kind);
}

TEST_CASE("the Python version of CIFAR-10 is read as published") {
  const std::string folder = fixture("cifar-10-batches-py").string();
  const auto all = open_dataset(folder);
  CHECK(all->format() == "cifar-10 python");
  REQUIRE(all->size() == 6);
  CHECK(all->classes().at(9) == "truck");
  const std::array<std::int64_t, 6> labels{6, 9, 0, 1, 3, 8};
  for (std::uint64_t id = 0; id < 6; ++id) check_image(*all, id, static_cast<int>(id), labels.at(id));
  CHECK_THAT(all->location(3), Catch::StartsWith(folder + "/data_batch_2 record 1 at offset "));
  CHECK(open_dataset(folder, "train")->size() == 4);
  check_image(*open_dataset(folder, "test"), 1, 5, 8);
  const auto named = open_dataset(folder + "/data_batch_{1..2}");
  REQUIRE(named->size() == 4);
  CHECK(named->classes().at(0) == "airplane");
  check_image(*open_dataset(folder + "/test_batch"), 0, 4, 3);
  CHECK_THAT(opening_error(folder, ErrorKind::kArgument, "val"), Catch::Contains("no split 'val'"));
  CHECK_THAT(opening_error(folder + "/test_batch", ErrorKind::kArgument, "train"), Catch::Contains("Pass the folder"));
}

TEST_CASE("pickles of all protocols of Python 3 are read as CIFAR-100") {
  const std::string name = "cifar-100-python-" + std::to_string(GENERATE(2, 3, 4, 5));
  const auto data = open_dataset(fixture(name).string());
  CHECK(data->format() == "cifar-100 python");
  REQUIRE(data->size() == 2);
  check_image(*data, 0, 6, 99);
  check_image(*data, 1, 7, 0);
  CHECK(data->classes().size() == 100);
  CHECK(data->classes().at(7) == "c7");
}

TEST_CASE("CIFAR pickles pass the conformance suite") {
  const TemporaryFolder folder;
  check_dataset({[&](std::uint64_t samples) {
                   folder.write("test_batch", batch_of(samples));
                   return open_dataset(folder.str("test_batch"));
                 },
                 {}});
}

TEST_CASE("pickles of other contents are rejected") {
  const TemporaryFolder folder;
  const auto why = [&](const std::string& contents) {
    folder.write("data_batch_1", contents);
    return opening_error(folder.str("data_batch_1"));
  };
  const std::string good = batch_of(2);
  CHECK(open_dataset((folder.write("data_batch_1", good), folder.str("data_batch_1")))->classes().at(1) == "1");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  CHECK_THAT(why(changed("labels", "labelz")),
             Catch::Contains("data_batch_1: the pickle is not a dict with the key labels"));
  CHECK_THAT(why(changed("U\x04"
                         "data",
                         "U\x04"
                         "dat_")),
             Catch::Contains("the key data"));
  CHECK_THAT(why(changed("U\x02u1", "U\x02i2")), Catch::Contains("not an array of uint8 of the shape (2, 3072)"));
  CHECK_THAT(why(changed("M\x02\0M"s, "M\x03\0M"s)), Catch::Contains("not an array of uint8 of the shape (2, 3072)"));
  CHECK_THAT(why(changed("\x89T", "\x88T")), Catch::Contains("not an array of uint8"));
  CHECK_THAT(why("\x80\x02}."), Catch::Contains("the key data"));
  CHECK_THAT(why(good.substr(0, good.size() - 2)), Catch::Contains("truncated"));
  CHECK_THAT(why(changed("numpy.core.multiarray\n_reconstruct", "posix\nsystem")), Catch::Contains("posix.system"));

  folder.write("data_batch_1", changed("](K\x00"s, "](K\x0a"s));
  const auto data = open_dataset(folder.str());
  RecordBuffer record;
  CHECK_THAT(error_message([&] { data->read(0, record); }), Catch::Contains("is not a class number"));
  CHECK_NOTHROW(data->read(1, record));

  folder.write("data_batch_1", good);
  folder.write("batches.meta",
               "\x80\x02}U\x0blabel_names]U\x01"
               "aas."s);
  CHECK_THAT(opening_error(folder.str()), Catch::Contains("1 class names in label_names; expected 10"));
  folder.write("batches.meta", "\x80\x02}.");
  folder.write("data_batch_3", good);
  CHECK_THAT(opening_error(folder.str()), Catch::Contains("data_batch_2 is missing although data_batch_3 exists"));
  folder.write("other", good);
  CHECK_THAT(opening_error(folder.str("{data_batch_1,other}")),
             Catch::Contains("other is not a file of the same dataset as"));
}

TEST_CASE("CIFAR pickles truncated at any byte are rejected") {
  const TemporaryFolder folder;
  const std::string bytes = batch_of(1);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(parse_cifar_batch(as_bytes(bytes).first(length), kCifar10Python), Error);
  CHECK(parse_cifar_batch(as_bytes(bytes), kCifar10Python).labels.size() == 1);
}

}  // namespace
}  // namespace unstarve
