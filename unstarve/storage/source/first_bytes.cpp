#include "unstarve/storage/source/first_bytes.h"

#include "unstarve/storage/formats/arrays/idx_header.h"
#include "unstarve/storage/formats/arrays/npy_header.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/recordio/recordio.h"
#include "unstarve/storage/formats/tfrecord/tfrecord.h"
#include "unstarve/storage/formats/webdataset/webdataset.h"

namespace unstarve {

std::string_view format_of_first_bytes(std::span<const std::uint8_t> front) {
  // Those with a checksum first: the name of a tar's first member may be "PAR1".
  if (begins_as_tar(front)) return "webdataset";
  if (begins_as_tfrecord(front)) return "tfrecord";
  if (begins_as_recordio(front)) return "recordio";
  if (begins_as_parquet(front)) return "parquet";
  if (is_npy(front)) return "npy";
  return is_idx_images(front) || is_idx_labels(front) ? "idx" : "";
}

}  // namespace unstarve
