// A file that is truncated while a run reads it is an error with file and offset and does not end the process, for
// mapped data (tar, CIFAR, npy, idx, Parquet) and for files of a folder.
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"
#include "unstarve/storage/formats/parquet/testing/memory_sink.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/tar_text.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr std::uint64_t kCutSamples = 64;

std::string jpeg(std::uint64_t id) {
  static const JpegSet images(kCutSamples);
  RecordBuffer record;
  images.read(id, record);
  return {record.values[0].bytes.begin(), record.values[0].bytes.end()};
}

// Takes the first batch, calls `cut`, and takes the remaining batches. Returns the error that ends the run.
Error error_after(const PipelineSpec& spec, const std::string& path, const std::function<void()>& cut) {
  const auto device = open_device("cpu");
  Loader loader(spec, open_dataset(path), *device, {});
  REQUIRE(loader.next());
  cut();
  try {
    while (loader.next()) {
    }
  } catch (const Error& error) {
    return error;
  }
  FAIL("the run came to its end");
  throw;
}

PipelineSpec in_order() {
  PipelineSpec spec = small_spec(4, 2);
  spec.order.shuffle = false;
  return spec;
}

TEST_CASE("a tar that is truncated during a run is an error with file and offset") {
  TemporaryFolder folder;
  testing::TarText tar;
  for (std::uint64_t id = 0; id < kCutSamples; ++id) {
    tar.file(std::to_string(id) + ".jpg", jpeg(id)).file(std::to_string(id) + ".cls", std::to_string(id % 3));
  }
  folder.write("x.tar", tar.end());
  const Error error = error_after(in_order(), folder.str("x.tar"), [&] { fs::resize_file(folder.str("x.tar"), 512); });
  CHECK(error.kind() == ErrorKind::kIo);
  CHECK_THAT(error.what(), Catch::Contains(folder.str("x.tar")) && Catch::Contains("the bytes from offset "));
}

TEST_CASE("a CIFAR binary that is truncated during a run is an error with file and offset") {
  TemporaryFolder folder;
  folder.write("data_batch_1.bin", std::string(3073 * 2000, '\1'));
  const Error error = error_after(in_order(), folder.str("data_batch_1.bin"),
                                  [&] { fs::resize_file(folder.str("data_batch_1.bin"), 0); });
  CHECK(error.kind() == ErrorKind::kIo);
  CHECK_THAT(error.what(), Catch::Contains("data_batch_1.bin") && Catch::Contains("the bytes from offset "));
}

// An .npy file. The arrays have kArrayImages RGB images of 32 x 32, and their labels.
std::string npy(const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(128 - 10 - 1, ' ');
  return std::string("\x93NUMPY\1\0\x76\0", 10) + header + "\n" + data;
}

constexpr std::uint64_t kArrayImages = 2000;
const std::string kPixels(kArrayImages * 32 * 32 * 3, '\1');
const std::string kLabels(kArrayImages, '\2');

TEST_CASE("an npy file that is truncated during a run is an error with file and offset") {
  TemporaryFolder folder;
  folder.write("images.npy", npy(std::to_string(kArrayImages) + ", 32, 32, 3", kPixels));
  folder.write("labels.npy", npy(std::to_string(kArrayImages) + ",", kLabels));
  const Error error =
      error_after(in_order(), folder.str("images.npy"), [&] { fs::resize_file(folder.str("images.npy"), 0); });
  CHECK(error.kind() == ErrorKind::kIo);
  CHECK_THAT(error.what(), Catch::Contains(folder.str("images.npy")) && Catch::Contains("the bytes from offset "));
}

TEST_CASE("an idx file that is truncated during a run is an error with file and offset") {
  TemporaryFolder folder;
  const std::string count("\0\0\x07\xd0", 4), side("\0\0\0\x20", 4);
  folder.write("train-images-idx3-ubyte",
               std::string("\0\0\x08\3", 4) + count + side + side + kPixels.substr(0, kArrayImages * 32 * 32));
  folder.write("train-labels-idx1-ubyte", std::string("\0\0\x08\1", 4) + count + kLabels);
  const std::string images = folder.str("train-images-idx3-ubyte");
  const Error error = error_after(in_order(), images, [&] { fs::resize_file(images, 0); });
  CHECK(error.kind() == ErrorKind::kIo);
  CHECK_THAT(error.what(), Catch::Contains(images) && Catch::Contains("the bytes from offset "));
}

TEST_CASE("a Parquet file that is truncated during a run is an error with file and offset") {
  TemporaryFolder folder;
  testing::MemorySink sink;
  std::unique_ptr<RecordWriter> writer;
  try {
    writer = make_parquet_writer(sink, {"a"}, 8);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);
    return;  // a build without Parquet
  }
  for (std::uint64_t id = 0; id < kCutSamples; ++id) {
    const std::string image = jpeg(id), key = std::to_string(id);
    OutRecord record;
    record.key = key;
    record.number = id;
    record.image = {reinterpret_cast<const std::uint8_t*>(image.data()), image.size()};
    record.label = 0;
    writer->append(record);
  }
  writer->finish();
  folder.write("x.parquet", sink.bytes());
  const Error error =
      error_after(in_order(), folder.str("x.parquet"), [&] { fs::resize_file(folder.str("x.parquet"), 0); });
  CHECK(error.kind() == ErrorKind::kIo);
  CHECK_THAT(error.what(), Catch::Contains(folder.str("x.parquet")) && Catch::Contains("the bytes from offset "));
}

TEST_CASE("a file of a folder that is truncated during a run is an error with its path") {
  TemporaryFolder folder;
  for (std::uint64_t id = 0; id < kCutSamples; ++id)
    folder.write("set/a/" + std::to_string(100 + id) + ".jpg", jpeg(id));
  const Error error = error_after(in_order(), folder.str("set"), [&] {
    for (std::uint64_t id = 32; id < kCutSamples; ++id)
      fs::resize_file(folder.str("set/a/" + std::to_string(100 + id) + ".jpg"), 0);
  });
  CHECK(error.kind() == ErrorKind::kInput);
  CHECK_THAT(error.what(), Catch::Contains(folder.str("set/a/132.jpg")) && Catch::Contains("the file is empty"));
}

}  // namespace
}  // namespace unstarve
