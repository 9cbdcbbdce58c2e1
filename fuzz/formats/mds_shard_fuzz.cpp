// Arbitrary bytes as an MDS shard: sample table, columns, encoded and raw images. The first byte selects the columns.
#include <cstddef>
#include <cstdint>

#include "fuzz/formats/shard_checks.h"
#include "unstarve/storage/formats/mds/mds.h"

namespace {

std::shared_ptr<const unstarve::RecordFormat> format_of(const std::vector<unstarve::MdsColumn>& columns) {
  return unstarve::mds_format(columns, unstarve::choose_mds_fields(columns, "", ""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  if (size == 0) return 0;
  static const std::shared_ptr<const RecordFormat> formats[] = {
      format_of({{"image", "jpeg", 0}, {"label", "int", 8}}), format_of({{"image", "pil", 0}, {"label", "str", 0}}),
      format_of({{"class", "str_int", 0}, {"image", "bytes", 0}})};
  fuzz::scan_and_read(*formats[data[0] % 3], {data + 1, size - 1});
  return 0;
}
