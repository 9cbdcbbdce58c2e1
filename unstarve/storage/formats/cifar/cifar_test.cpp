#include "unstarve/storage/formats/cifar/cifar.h"

#include <filesystem>
#include <fstream>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;
namespace fs = std::filesystem;

// Records with recognisable pixels: plane c of record i is filled with i + 85 c, its first pixel is 255.
std::string records(const CifarLayout& layout, std::uint64_t count, std::uint64_t first = 0) {
  std::string bytes;
  for (std::uint64_t i = first; i < first + count; ++i) {
    if (layout.label_bytes == 2) bytes += static_cast<char>(i % 20);
    bytes += static_cast<char>(i % static_cast<std::uint64_t>(layout.classes));
    for (std::uint64_t c = 0; c < 3; ++c) {
      bytes += static_cast<char>(255);
      bytes += std::string(1023, static_cast<char>(i + 85 * c));
    }
  }
  return bytes;
}

void check_rejected(const std::string& path, const std::string& part, const std::string& split = "",
                    ErrorKind kind = ErrorKind::kInput) {
  INFO(path);
  CHECK_THAT(testing::error_message([&] { return open_dataset(path, split); }, kind), Catch::Contains(part));
}

// Sets the label of record `index` to 200 in the file.
void corrupt_label(const std::string& file, std::uint64_t index, const CifarLayout& layout) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(
      static_cast<std::streamoff>(index * layout.record_bytes() + static_cast<std::size_t>(layout.label_bytes) - 1));
  stream.put(static_cast<char>(200));
  REQUIRE(stream.flush());
}

TEST_CASE("CIFAR binaries pass the conformance suite") {
  const bool hundred = GENERATE(false, true);
  const CifarLayout& layout = hundred ? kCifar100 : kCifar10;
  const std::string file = hundred ? "train.bin" : "data_batch_1.bin";
  const TemporaryFolder folder;
  testing::DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    fs::remove(folder.path() / file);  // not truncated: an earlier set may still be mapped
    folder.write(file, records(layout, samples));
    return open_dataset(folder.str());
  };
  test.damage = [&](std::uint64_t id) {
    corrupt_label(folder.str(file), id, layout);
    return folder.str(file) + " record " + std::to_string(id) + ": label 200 at offset " +
           std::to_string(id * layout.record_bytes() + static_cast<std::size_t>(layout.label_bytes) - 1) +
           " is out of range";
  };
  testing::check_dataset(test);
}

TEST_CASE("planes are views of the map and the label is the fine label") {
  TemporaryFolder folder;
  folder.write("test.bin", records(kCifar100, 30));
  const auto data = open_dataset(folder.str("test.bin"));
  CHECK(data->format() == "cifar-100 binary");
  RecordBuffer record;
  data->read(25, record);
  const PixelView& view = record.values[0].pixels;
  CHECK(view.size() == Size{32, 32});
  CHECK(view.planar());
  CHECK(view.at(0, 0, 0) == 255);
  CHECK(view.at(1, 0, 0) == 25);
  CHECK(view.at(31, 31, 2) == 25 + 170);
  CHECK(record.values[1].integer == 25);
  CHECK(record.storage.capacity() == 0);  // nothing was copied
}

TEST_CASE("a split selects files; training files are in order") {
  TemporaryFolder folder;
  for (std::uint64_t batch = 1; batch <= 5; ++batch) {
    folder.write("data_batch_" + std::to_string(batch) + ".bin", records(kCifar10, 3, 3 * (batch - 1)));
  }
  folder.write("test_batch.bin", records(kCifar10, 2, 100));
  folder.write("batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
  folder.write("readme.html", "x");
  const auto all = open_dataset(folder.str());
  CHECK(all->size() == 17);
  CHECK(all->stored_bytes() == 17 * 3073);
  CHECK(open_dataset(folder.str(), "train")->size() == 15);
  CHECK(open_dataset(folder.str(), "test")->size() == 2);
  CHECK(all->classes().at(9) == "truck");
  CHECK(all->location(7) == folder.str("data_batch_3.bin") + " record 1 at offset 3073");
  CHECK(all->location(16) == folder.str("test_batch.bin") + " record 1 at offset 3073");
  RecordBuffer record;
  for (std::uint64_t id = 0; id < 15; ++id) {
    all->read(id, record);
    CHECK(record.values[0].pixels.at(5, 5, 0) == id);
  }
  check_rejected(folder.str(), "no split 'val'; cifar-10 binary has train and test", "val", ErrorKind::kArgument);
  check_rejected(folder.str("test_batch.bin"), "split 'train' is not available", "train", ErrorKind::kArgument);
}

TEST_CASE("a file with another name is identified by its length") {
  TemporaryFolder folder;
  folder.write("ten.bin", records(kCifar10, 4));
  folder.write("hundred.bin", records(kCifar100, 4));
  folder.write("neither.bin", std::string(5000, 'x'));
  folder.write("empty.bin", "");
  CHECK(open_dataset(folder.str("ten.bin"))->format() == "cifar-10 binary");
  CHECK(open_dataset(folder.str("hundred.bin"))->format() == "cifar-100 binary");
  CHECK(open_dataset(folder.str("ten.bin"))->classes().at(3) == "3");
  check_rejected(folder.str("neither.bin"), "length of 5000 bytes");
  check_rejected(folder.str("empty.bin"), "length of 0 bytes");
}

TEST_CASE("errors of damaged CIFAR files name file and offset") {
  TemporaryFolder folder;
  folder.write("cut/data_batch_1.bin", records(kCifar10, 4).substr(0, 3 * 3073 + 10));
  check_rejected(folder.str("cut"),
                 "data_batch_1.bin: 9229 bytes, not a multiple of the 3073-byte records of cifar-10 binary: "
                 "record 3 at offset 9219 has only 10");
  folder.write("void/test_batch.bin", "");
  check_rejected(folder.str("void"), "test_batch.bin: the file is empty");
  folder.write("hole/data_batch_1.bin", records(kCifar10, 1));
  folder.write("hole/data_batch_3.bin", records(kCifar10, 1));
  check_rejected(folder.str("hole"), "data_batch_2.bin is missing");
  folder.write("both/data_batch_1.bin", records(kCifar10, 1));
  folder.write("both/train.bin", records(kCifar100, 1));
  check_rejected(folder.str("both"), "both CIFAR-10 and CIFAR-100");
  folder.write("names/data_batch_1.bin", records(kCifar10, 1));
  folder.write("names/batches.meta.txt", "airplane\nbird\n");
  check_rejected(folder.str("names"), "batches.meta.txt: 2 class names; expected 10");
  folder.write("half/train.bin", records(kCifar100, 1));
  check_rejected(folder.str("half"), "no file of the split 'test'", "test");
}

TEST_CASE("CIFAR files of a glob or a brace range are one dataset in the given order") {
  const TemporaryFolder folder;
  for (std::uint64_t batch = 1; batch <= 3; ++batch)
    folder.write("data_batch_" + std::to_string(batch) + ".bin", records(kCifar10, 3, 3 * (batch - 1)));
  folder.write("test_batch.bin", records(kCifar10, 2, 9));
  folder.write("batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n");
  for (const char* const text : {"data_batch_{1..3}.bin", "data_batch_*.bin"}) {
    const auto data = open_dataset(folder.str(text));
    REQUIRE(data->size() == 9);
    CHECK(data->classes().at(9) == "truck");
    RecordBuffer record;
    for (std::uint64_t id = 0; id < 9; ++id) {
      data->read(id, record);
      CHECK(record.values[0].pixels.at(5, 5, 0) == id);
    }
  }
  CHECK(open_dataset(folder.str("data_batch_{3..2}.bin"))->location(0) ==
        folder.str("data_batch_3.bin") + " record 0 at offset 0");
  CHECK(open_dataset(folder.str("*.bin"))->size() == 11);
  CHECK(open_dataset(folder.str("*.bin"), "test")->size() == 2);
  check_rejected(folder.str("data_batch_{1..3}.bin"), "none of the files belongs to that split", "test",
                 ErrorKind::kArgument);
  folder.write("x-0.bin", records(kCifar100, 2));
  folder.write("x-1.bin", records(kCifar100, 3));
  CHECK(open_dataset(folder.str("x-*.bin"))->size() == 5);
}

TEST_CASE("CIFAR files that do not belong together are rejected by name") {
  const TemporaryFolder folder;
  folder.write("data_batch_1.bin", records(kCifar10, 2));
  folder.write("train.bin", records(kCifar100, 2));
  folder.write("x.tar", "x");
  check_rejected(folder.str("{data_batch_1,train}.bin"), "train.bin is cifar-100 binary, ");
  check_rejected(folder.str("{data_batch_1.bin,x.tar}"), "x.tar is not a CIFAR *.bin file");
  folder.write("a/test_batch.bin", records(kCifar10, 2));
  folder.write("a/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
  check_rejected(folder.str("{data_batch_1,a/test_batch}.bin"),
                 "the class names next to " + folder.str("a/test_batch.bin"));
}

}  // namespace
}  // namespace unstarve
