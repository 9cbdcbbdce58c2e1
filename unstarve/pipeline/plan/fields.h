#pragma once
// The named fields that the steps of a program read and write.
//
//   record ──Open──▶ header ──Select──▶ region ──Decode──▶ image ──Apply──▶ image ──Store──▶ batch
//
// verify.h checks that every field is written before it is read. A new field (a mask, boxes) is a row here and in the
// steps that use it.
//
// Threads: pure.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "unstarve/pipeline/plan/step.h"

namespace unstarve {

enum class PlanField : std::uint8_t {
  kRecord,       // encoded bytes or stored pixels
  kLabel,        // class of the sample
  kHeader,       // size and encoding of the encoded image
  kRegion,       // part of the image that the first operation reads
  kInnerRegion,  // part of that which the second operation reads
  kImage,        // pixels
};
inline constexpr std::size_t kFields = 6;
// "record", "label", "header", "region", "inner region", "image".
[[nodiscard]] std::string_view name_of(PlanField field);

struct FieldUse {
  std::vector<PlanField> reads;   // fields that must be written before, those that the step changes included
  std::vector<PlanField> writes;  // fields that nothing has written before
};
[[nodiscard]] FieldUse fields_of(const Step& step);
// The fields that a program has written when it continues after a cache hit.
[[nodiscard]] std::vector<PlanField> fields_after_hit();

}  // namespace unstarve
