#include "unstarve/storage/formats/arrays/array_files.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/formats/arrays/array_images.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"
#include "unstarve/storage/testing/tfrecord_bytes.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;
using namespace std::string_literals;

std::string npy(const std::string& type, const std::string& shape, const std::string& data) {
  const std::string dict = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  return "\x93NUMPY\1"s + '\0' + static_cast<char>(dict.size()) + '\0' + dict + data;
}

std::string gzipped(const std::string& text) { return testing::deflated(text, 31, 1); }

// Peak resident set of this process.
long peak_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::string why(const std::string& path, const std::string& split = "") {
  try {
    (void)open_dataset(path, split);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string big(std::uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16), static_cast<char>(number >> 8),
          static_cast<char>(number)};
}

TEST_CASE("npy arrays pass the conformance suite") {
  const TemporaryFolder folder;
  testing::DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    std::string pixels, labels;
    for (std::uint64_t i = 0; i < samples; ++i) {
      for (int k = 0; k < 2 * 3 * 3; ++k) pixels += static_cast<char>(i * 7 + static_cast<std::uint64_t>(k));
      labels += static_cast<char>(i % 5);
    }
    for (const char* const name : {"images.npy", "labels.npy"}) std::filesystem::remove(folder.path() / name);
    folder.write("images.npy", npy("|u1", std::to_string(samples) + ", 2, 3, 3", pixels));
    folder.write("labels.npy", npy("|u1", std::to_string(samples) + ",", labels));
    return open_dataset(folder.str());
  };
  testing::check_dataset(test);
}

TEST_CASE("idx files pass the conformance suite") {
  const TemporaryFolder folder;
  testing::DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    std::string pixels, labels;
    for (std::uint64_t i = 0; i < samples; ++i) {
      for (int k = 0; k < 2 * 3; ++k) pixels += static_cast<char>(i * 7 + static_cast<std::uint64_t>(k));
      labels += static_cast<char>(i % 5);
    }
    const std::string images = "train-images-idx3-ubyte", tags = "train-labels-idx1-ubyte";
    for (const std::string& name : {images, tags}) std::filesystem::remove(folder.path() / name);
    const auto count = static_cast<std::uint32_t>(samples);
    folder.write(images, big(0x803) + big(count) + big(2) + big(3) + pixels);
    folder.write(tags, big(0x801) + big(count) + labels);
    return open_dataset(folder.str());
  };
  testing::check_dataset(test);
}

TEST_CASE("files written by NumPy are read without a copy") {
  for (const std::string path : {"npy", "npy/images.npy"}) {
    const auto data = open_dataset(testing::fixture(path).string());
    CHECK(data->format() == "npy");
    REQUIRE(data->size() == 5);
    CHECK(data->classes().size() == 3);
    for (std::uint64_t id = 0; id < 5; ++id) {
      RecordBuffer record;
      data->read(id, record);
      const PixelView& view = record.values[0].pixels;
      CHECK(view.size() == Size{16, 12});
      CHECK(view.at(1, 0, 0) == id);
      CHECK(view.at(1, 0, 1) == id + 10);
      CHECK(view.at(1, 0, 2) == id + 20);
      CHECK(record.values[1].integer == testing::kFixtureLabels[id]);
      CHECK(record.storage.capacity() == 0);
    }
  }
}

TEST_CASE("arrays are opened without labels on request") {
  const TemporaryFolder folder;
  folder.write("images.npy", npy("|u1", "2, 1, 1", "xy"));
  for (const char* const path : {"images.npy", ""}) {
    const auto data = open_dataset(folder.str(path), "", "none");
    CHECK(data->size() == 2);
    CHECK(data->classes().empty());
    CHECK(data->missing_labels().empty());
    RecordBuffer record;
    data->read(1, record);
    CHECK(record.values.size() == 1);
    CHECK(record.values[0].pixels.at(0, 0, 0) == 'y');
    CHECK(data->known_label(1) == std::nullopt);
  }
  folder.write("labels.npy", npy("|i1", "2,", "\1\xff"));
  CHECK(open_dataset(folder.str(), "", "none")->size() == 2);
}

TEST_CASE("without labels, other arrays next to images with labels are no images") {
  const TemporaryFolder folder;
  folder.write("x_train.npy", npy("|u1", "1, 1, 1", "x"));
  folder.write("y_train.npy", npy("|u1", "1,", "\1"));
  folder.write("embeddings.npy", npy("<f4", "1, 1", "abcd"));
  folder.write("masks.npy", npy("|u1", "1, 1, 1", "m"));
  CHECK(open_dataset(folder.str(), "", "none")->location(0) ==
        folder.str("x_train.npy") + " record 0 at offset " + std::to_string(npy("|u1", "1, 1, 1", "").size()));
}

TEST_CASE("coordinates in *_x and *_y are no images with labels") {
  const TemporaryFolder folder;
  folder.write("x_train.npy", npy("|u1", "1, 1, 1", "x"));
  folder.write("y_train.npy", npy("|u1", "1,", "\1"));
  for (const char* const name : {"pos_x.npy", "pos_y.npy"}) folder.write(name, npy("<f4", "1,", "abcd"));
  CHECK(open_dataset(folder.str())->size() == 1);
}

TEST_CASE("labels are found by the names that scripts give to arrays") {
  const auto [images, labels] = GENERATE(table<std::string, std::string>({{"X_train", "y_train"},
                                                                          {"X", "y"},
                                                                          {"x", "Y"},
                                                                          {"X_Test", "Y_Test"},
                                                                          {"train_x", "train_y"},
                                                                          {"train_X", "train_y"},
                                                                          {"data_x", "data_y"},
                                                                          {"val-x", "val-y"}}));
  const TemporaryFolder folder;
  folder.write(images + ".npy", npy("|u1", "1, 1, 1", "x"));
  folder.write(labels + ".npy", npy("|u1", "1,", "\1"));
  CHECK(open_dataset(folder.str())->size() == 1);
  CHECK(open_dataset(folder.str(images + ".npy"))->classes().size() == 2);
}

TEST_CASE("a compressed file next to the unpacked one is left out") {
  const TemporaryFolder folder;
  for (const char* const split : {"train", "t10k"}) {
    const std::string images = big(0x803) + big(1) + big(1) + big(1) + "x", labels = big(0x801) + big(1) + "\1";
    for (const char* const end : {"", ".gz"}) {
      folder.write(split + "-images-idx3-ubyte"s + end, *end != 0 ? gzipped(images) : images);
      folder.write(split + "-labels-idx1-ubyte"s + end, *end != 0 ? gzipped(labels) : labels);
    }
  }
  CHECK(open_dataset(folder.str())->size() == 2);
  CHECK(open_dataset(folder.str(), "train")->location(0) ==
        folder.str("train-images-idx3-ubyte") + " record 0 at offset 16");
}

TEST_CASE("a folder of MNIST files has two splits, compressed files included") {
  const std::string path = testing::fixture("idx").string();
  CHECK(open_dataset(path)->size() == 7);
  CHECK(open_dataset(path, "train")->size() == 5);
  CHECK(open_dataset(path, "test")->size() == 2);
  CHECK(open_dataset(path + "/t10k-images-idx3-ubyte.gz")->size() == 2);
  CHECK_THAT(why(path, "val"), Catch::Contains("no image file of the split 'val'"));
  const auto data = open_dataset(path);
  for (std::uint64_t id = 0; id < 7; ++id) {
    RecordBuffer record;
    data->read(id, record);
    const PixelView& view = record.values[0].pixels;
    CHECK(view.at(1, 0, 0) == id % 5);
    CHECK(view.at(1, 0, 2) == id % 5);  // grey in every channel
    CHECK(record.values[1].integer == testing::kFixtureLabels[id % 5]);
  }
  CHECK_THAT(data->location(6), Catch::Contains("t10k-images-idx3-ubyte.gz record 1 at offset "));
}

TEST_CASE("a list of idx files may name labels first; label files alone are an error") {
  const std::string path = testing::fixture("idx").string();
  for (const std::string list : {"/{train-labels-idx1,train-images-idx3}-ubyte", "/{*labels*,*images*}", "/*",
                                 "/t10k-{labels-idx1,images-idx3}*"}) {
    INFO(list);
    const auto data = open_dataset(path + list);
    CHECK(data->size() == (list.starts_with("/{train") ? 5U : list.starts_with("/t10k") ? 2U : 7U));
    CHECK(data->format() == "idx");
    RecordBuffer record;
    data->read(1, record);
    CHECK(record.values[1].integer == testing::kFixtureLabels[1]);
  }
  for (const std::string labels : {"/train-labels-idx1-ubyte", "/*labels*"})
    CHECK_THAT(why(path + labels), Catch::Contains("not an array of images") &&
                                       Catch::EndsWith("If these are labels, pass the file of their images."));
}

TEST_CASE("a compressed file longer than its header declares is rejected before all of it is decompressed") {
  const TemporaryFolder folder;
  const std::string head("\0\0\x08\x03\0\0\0\2\0\0\0\2\0\0\0\2", 16);
  folder.write("train-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\2\0\1", 10));
  const std::string images = "train-images-idx3-ubyte.gz";
  folder.write(images, gzipped(head + "12345678"));
  CHECK(open_dataset(folder.path() / images)->size() == 2);
  folder.write(images, gzipped(head + "1234567"));
  CHECK_THAT(why(folder.path() / images), Catch::Contains("truncated"));
  folder.write(images, gzipped(head + std::string(std::size_t{128} << 20, '\0')));
  const long before_kb = peak_kb();
  CHECK_THAT(why(folder.path() / images),
             Catch::Contains("the header declares 24 bytes, the file decompresses to more"));
  CHECK(peak_kb() - before_kb < 32 << 10);
  folder.write(images, gzipped(std::string("\0\0\x08\x03\xFF\0\0\0\xFF\0\0\0\xFF\0\0\0", 16) + "1"));
  CHECK_THAT(why(folder.path() / images), Catch::Contains("expected at most 4294967296 in a compressed file"));
}

TEST_CASE("a part that is not mapped is read by range requests") {
  const auto bytes = std::make_shared<testing::MemoryBytes>("head" + std::string(3, 'a') + std::string(3, 'b'),
                                                            testing::Access::kRanges);
  const ArrayImages data("test", {1, 1, 3}, {{bytes, 4, {0, 1}, "labels"}});
  RecordBuffer record;
  data.read(1, record);
  CHECK(record.values[0].pixels.at(0, 0, 2) == 'b');
}

TEST_CASE("a label that is not a class number makes only its own record unreadable") {
  const TemporaryFolder folder;
  folder.write("images.npy", npy("|u1", "3, 1, 1", "abc"));
  folder.write("labels.npy", npy("<i2", "3,", "\1\0\xff\xff\2\0"s));
  const auto data = open_dataset(folder.str());
  RecordBuffer record;
  data->read(0, record);
  CHECK(record.values[1].integer == 1);
  CHECK_THAT(testing::error_message([&] {
               data->read(1, record);
               return 0;
             }),
             Catch::Contains("images.npy record 1 at offset 74: the label in"));
  data->read(2, record);
  CHECK(record.values[1].integer == 2);
  CHECK(labels_of(testing::bytes_of("\0\1\0\2"s), 2, false, true) == std::vector<std::int32_t>{1, 2});
  CHECK(labels_of(testing::bytes_of(std::string(8, '\xff')), 8, false, false) == std::vector<std::int32_t>{-1});
}

TEST_CASE("label files are found by name") {
  const TemporaryFolder folder;
  const std::string images = npy("|u1", "1, 1, 1, 3", "abc"), labels = npy("|u1", "1,", "\0"s);
  folder.write("a/x_train.npy", images);
  folder.write("a/y_train.npy", labels);
  folder.write("b/faces.npy", images);
  folder.write("b/faces_labels.npy", labels);
  folder.write("c/faces.npy", images);
  folder.write("c/labels.npy", labels);
  for (const char* const name : {"a", "b", "c"}) CHECK(open_dataset(folder.str(name))->size() == 1);
  folder.write("d/images.npy", images);
  CHECK_THAT(why(folder.str("d/images.npy")), Catch::Contains("no label file next to it; expected labels.npy"));
  CHECK_THAT(why(folder.str("d")), Catch::Contains("no image file with a label file"));
  folder.write("a/x_test.npy", npy("|u1", "1, 1, 1, 1", "a"));
  folder.write("a/y_test.npy", labels);
  CHECK_THAT(why(folder.str("a")), Catch::Contains("the image shape differs"));
  CHECK(open_dataset(folder.str("a"), "test")->size() == 1);
}

TEST_CASE("arrays that are not images, and too few labels, are rejected") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& images, const std::string& labels) {
    folder.write("images.npy", images);
    folder.write("labels.npy", labels);
    return why(folder.str("images.npy"));
  };
  const std::string one = npy("|u1", "1,", "\0"s);
  CHECK_THAT(with(npy("|u1", "1, 3, 2, 2", std::string(12, 'x')), one), Catch::Contains("(1, 3, 2, 2)"));
  CHECK_THAT(with(npy("<i2", "1, 1, 1", "xx"), one),
             Catch::Contains("not an array of images: shape (1, 1, 1) with 2-byte elements"));
  CHECK_THAT(with(npy("|u1", "2, 1, 1", "xx"), one), Catch::Contains("for each of the 2 images"));
  CHECK_THAT(with(npy("|u1", "1, 1, 1", "x"), npy("|u1", "1, 2", "ab")),
             Catch::Contains("expected one label for each"));
  CHECK_THAT(with(npy("|u1", "1, 1, 1", ""), one), Catch::Contains("images.npy: truncated: the header declares"));
  CHECK(with(npy("|u1", "1, 1, 1", "x"), npy("|u1", "1, 1", "\0"s)) == "no error");
}

}  // namespace
}  // namespace unstarve
