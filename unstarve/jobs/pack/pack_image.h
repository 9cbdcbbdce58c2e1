#pragma once
// From a record of any data set to the record that is written: reads it, and resizes and encodes its image where that
// is asked for (pack.h tells the rules).
//
// Ownership: a PackedRecord owns its memory or borrows from the data set's; `out` is valid until the next make() into
// it.
// Threads:   one PackImage per thread.
// Failure:   make() throws Error(kInput), Error(kIo) or Error(kMemory) with the record's location when the record is
//            damaged.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/codecs/jpeg/encode/jpeg_encoder.h"
#include "unstarve/jobs/pack.h"
#include "unstarve/jobs/pack/pack_keys.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

struct PackedRecord {
  RecordBuffer record;
  std::vector<std::uint8_t> encoded;     // empty where the bytes are kept
  std::vector<std::uint8_t> scan_index;  // of the JPEG that is packed, where options ask for it and it can have one
  std::string name;
  OutRecord out;
};

class PackImage {
 public:
  PackImage(const Dataset& data, const PackKeys& keys, const PackOptions& options);

  // Sets all of `packed.out` but its number.
  void make(std::uint64_t id, PackedRecord& packed);

  // Whether images are decoded as a rule, so that the processors set the pace and not the disk.
  [[nodiscard]] static bool decodes(const Dataset& data, const PackOptions& options);

 private:
  void take_label(const Value& value, OutRecord& out) const;
  void take_encoded(std::span<const std::uint8_t> bytes, PackedRecord& packed);
  void keep(std::span<const std::uint8_t> bytes, const ImageHeader& header, OutRecord& out);
  // Makes the scan index of what is packed, where it is a JPEG.
  void index(PackedRecord& packed);
  // Shrinks where it must, and encodes: as PNG what was stored without loss and no quality is asked of, else as JPEG.
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
