#include "unstarve/storage/formats/cifar/cifar_writer.h"

#include <catch2/catch.hpp>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/refusal.h"
#include "unstarve/storage/formats/synthetic/synthetic.h"
#include "unstarve/storage/formats/synthetic/synthetic_shapes.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;

TEST_CASE("written CIFAR-10 files read back equal") {
  TemporaryFolder folder;
  const auto train = open_dataset("synthetic:classes=10,images=700,size=32,seed=2");
  const auto test = open_dataset("synthetic:classes=10,images=30,size=32,seed=2", "test");
  write_cifar10(*train, test.get(), folder.path() / "out", 2);
  CHECK(testing::read_all(*open_dataset(folder.str("out"), "train")) == testing::read_all(*train));
  CHECK(testing::read_all(*open_dataset(folder.str("out"), "test")) == testing::read_all(*test));
  CHECK(open_dataset(folder.str("out"))->classes() == train->classes());
  CHECK_THROWS_AS(write_cifar10(*train, nullptr, folder.path() / "out"), Error);
}

TEST_CASE("an image folder is decoded into CIFAR-10, equal for any number of threads") {
  TemporaryFolder folder;
  const auto pixels = open_dataset("synthetic:classes=3,images=300,size=32");
  RecordBuffer record;
  for (std::uint64_t id = 0; id < 300; ++id) {
    pixels->read(id, record);
    char name[32];
    std::snprintf(name, sizeof name, "set/%d/%03d.png", static_cast<int>(id % 3), static_cast<int>(id));
    folder.write(name, encode_png(record.values[0].pixels));
  }
  const auto data = open_dataset(folder.str("set"));
  const std::string bytes = encode_cifar10(*data, 0, 300, 1);
  CHECK(bytes.size() == 300 * 3073);
  CHECK(encode_cifar10(*data, 0, 300, 3) == bytes);
  CHECK(encode_cifar10(*data, 100, 200, 1) == bytes.substr(100 * 3073, 100 * 3073));  // class 1
  write_cifar10(*data, nullptr, folder.path() / "out");
  const auto binary = open_dataset(folder.str("out"));
  CHECK(binary->classes() == std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
  RecordBuffer from_binary;
  for (std::uint64_t id = 0; id < 300; ++id) {  // sorted by class: record id is image id / 100 + 3 * (id % 100)
    pixels->read(id / 100 + 3 * (id % 100), record);
    CHECK(testing::read_copy(*binary, id, from_binary) == testing::copy_of(*pixels, record));
  }
}

TEST_CASE("data that does not fit into CIFAR-10 is refused with the record location") {
  TemporaryFolder folder;
  const auto refused = [&](const Dataset& data, const Dataset* test, ErrorKind kind, const std::string& part) {
    CHECK_THAT(testing::refusal([&] { write_cifar10(data, test, folder.path() / "out"); }, kind),
               Catch::Contains(part));
  };
  const auto fine = open_dataset("synthetic:images=10,size=32");
  refused(*open_dataset("synthetic:images=10,size=31"), nullptr, ErrorKind::kInput,
          "synthetic:seed=1 record 0 is 31 x 31 pixels; expected 32 x 32");
  refused(*open_dataset("synthetic:classes=11,images=11,size=8"), nullptr, ErrorKind::kArgument, "11 classes");
  refused(*open_dataset("sleep:ms=0,images=50001,size=32"), nullptr, ErrorKind::kArgument, "50001 training images");
  refused(*fine, open_dataset("synthetic:classes=9,images=9,size=32").get(), ErrorKind::kArgument, "different classes");
  folder.write("broken/a/1.jpg", "no image");
  refused(*open_dataset(folder.str("broken")), nullptr, ErrorKind::kInput, folder.str("broken/a/1.jpg"));
}

}  // namespace
}  // namespace unstarve
