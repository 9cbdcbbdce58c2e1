#pragma once
// One pass over the records of a RecordIO file, through damage. Threads: one at a time.

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

  // To the end; throws what the bytes and the sink throw.
  void run();

 private:
  // What follows a part: enough to tell whether its length was right.
  enum class Part { kGood, kCut, kLies };

  bool step();
  [[nodiscard]] Part look_at_part(std::span<const std::uint8_t> chunk, const RecordioHead& head,
                                  std::uint64_t& bytes) const;
  void add(std::uint64_t end, std::span<const std::uint8_t> record);
  void skip_damage(std::uint64_t from, std::string_view reason);

  ForwardBytes& bytes_;
  RecordSink& sink_;
  std::uint64_t at_ = 0;  // of the record
  std::vector<std::uint8_t> parts_;
};

}  // namespace unstarve
