#pragma once
// Checks that a plan's program is well formed. Run after every pass; a failure is a defect of that pass.
//
// The steps of a program read and write named fields:
//
//   record ──Open──▶ header ──Select──▶ region ──Decode──▶ image ──Apply──▶ image ──Store──▶ batch
//
// A new field (a mask, boxes) is a row here and in the steps that use it.
//
// Threads: pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/pipeline/plan/step.h"

namespace unstarve {

struct Plan;

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

// The first violation; empty for a valid plan. In a valid program every field is written once, before it is read; every
// operation is applied exactly once and in order on every path (with and without a cache hit), to the region that was
// drawn for it; the last step is the only StoreStep, and stores the type, layout and sizes of the batch. Only a plain
// resize is applied while decoding, or selected through. All stages have as many operations as the spec; each of their
// sizes is the output size of the operation before, and the last one fits the batch.
[[nodiscard]] std::string violation(const Plan& plan);

}  // namespace unstarve
