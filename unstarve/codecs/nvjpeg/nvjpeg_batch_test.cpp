#include "unstarve/codecs/nvjpeg/nvjpeg_batch.h"

#include <array>
#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("nvJPEG batch: the arrays list the added jobs, with rows without gaps") {
  const std::array<std::uint8_t, 5> file{};
  std::array<std::uint8_t, 300> to{};
  const std::span<const std::uint8_t> bytes(file);
  NvjpegBatch batch;
  batch.add(2, {bytes, {7, 4}, to.data()});
  batch.add(5, {bytes.first(3), {10, 2}, to.data() + 84});
  REQUIRE(batch.size() == 2);
  CHECK(batch.index(0) == 2);
  CHECK(batch.index(1) == 5);
  CHECK(batch.files()[1] == file.data());
  CHECK(batch.lengths()[0] == 5);
  CHECK(batch.lengths()[1] == 3);
  CHECK(batch.images()[1].channel[0] == to.data() + 84);
  CHECK(batch.images()[0].pitch[0] == 21);
  batch.clear();
  CHECK(batch.size() == 0);
}

}  // namespace
}  // namespace unstarve
