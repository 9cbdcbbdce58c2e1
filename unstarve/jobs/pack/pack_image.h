#pragma once
// Converts a record of any dataset into a packed record: reads it, and resizes and encodes its image as the options
// specify (pack.h).
//
// Ownership: a PackedRecord owns its memory or borrows from the dataset; `out` is valid until the next make() into it.
// Threads:   one PackImage per thread.
// Failure:   make() throws Error(kInput), Error(kIo) or Error(kMemory) with the record's location for a damaged record.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/decoder.h"
#include "unstarve/jobs/pack/pack_keys.h"
#include "unstarve/jobs/pack/pack_options.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

struct PackedRecord {
  RecordBuffer record;
  std::vector<std::uint8_t> encoded;     // empty if the stored bytes are copied
  std::vector<std::uint8_t> scan_index;  // of the packed JPEG, if requested and possible
  std::string name;
  OutRecord out;
};

class PackImage {
 public:
  PackImage(const Dataset& data, const PackKeys& keys, const PackOptions& options);

  // Sets all fields of `packed.out` except its number.
  void make(std::uint64_t id, PackedRecord& packed);

  // Whether most images are decoded, so that the CPU and not the disk is the bottleneck.
  [[nodiscard]] static bool decodes(const Dataset& data, const PackOptions& options);

 private:
  void take_label(const Value& value, OutRecord& out) const;
  void take_encoded(std::span<const std::uint8_t> bytes, PackedRecord& packed);
  void keep(std::span<const std::uint8_t> bytes, const ImageHeader& header, OutRecord& out);
  // Builds the scan index of the packed image if it is a JPEG.
  void index(PackedRecord& packed);
  // Resizes if necessary and encodes: lossless images without a requested quality as PNG, others as JPEG.
  void encode(PixelView pixels, bool lossless, PackedRecord& packed);
  [[nodiscard]] Size target(Size size) const;

  const Dataset& data_;
  const PackKeys& keys_;
  const PackOptions& options_;
  int encoded_;
  int pixels_;
  int label_;
  Decoder decoder_;
  JpegEncoder jpeg_encoder_;
  Image image_;
  Scratch scratch_;
};

}  // namespace unstarve
