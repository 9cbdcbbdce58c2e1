#pragma once
// Scans the records of a RecordIO file and continues after damage. Threads: one at a time.

#include <cstdint>
#include <string_view>
#include <vector>

#include "unstarve/storage/formats/recordio/recordio_parts.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve {

class RecordioScan {
 public:
  // Borrows both.
  RecordioScan(ForwardBytes& bytes, RecordSink& sink) : bytes_(bytes), sink_(sink) {}

  // Scans to the end. Throws what the bytes and the sink throw.
  void run();

 private:
  // Whether the length of a part is right, judged by what follows it.
  enum class Part { kGood, kTruncated, kWrongLength };

  bool step();
  [[nodiscard]] Part check_part(std::span<const std::uint8_t> chunk, const RecordioHead& head,
                                std::uint64_t& resume) const;
  void add(std::uint64_t end, std::span<const std::uint8_t> record);
  void skip_damage(std::uint64_t from, std::string_view reason);

  ForwardBytes& bytes_;
  RecordSink& sink_;
  std::uint64_t offset_ = 0;  // of the current record
  std::vector<std::uint8_t> parts_;
};

}  // namespace unstarve
