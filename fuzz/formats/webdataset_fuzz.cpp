// Arbitrary bytes as a WebDataset shard: members are grouped into samples, labels parsed, and the image of every sample
// read. The first byte selects the options. Checksums are used unchanged and corrected (tar_checksums.h).
#include <cstddef>
#include <cstdint>

#include "fuzz/formats/shard_checks.h"
#include "fuzz/formats/tar_checksums.h"
#include "unstarve/storage/formats/webdataset/webdataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  if (size == 0) return 0;
  static const std::shared_ptr<const RecordFormat> formats[] = {
      webdataset_format(), webdataset_format({"png", "json", "category"}), webdataset_format({"", "txt", ""}),
      webdataset_format({"", "none", ""})};
  const RecordFormat& format = *formats[data[0] % 4];
  const std::span<const std::uint8_t> shard(data + 1, size - 1);
  fuzz::scan_and_read(format, shard);
  fuzz::scan_and_read(format, fuzz::with_tar_checksums(shard));
  return 0;
}
