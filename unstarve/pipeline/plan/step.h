#pragma once
// The steps of a sample's program, from record to batch slot. Plain data: comparable, printable, without state.
//
// The program of `random_resized_crop, flip` after each exact pass that changes it:
//
//   before all passes              Read, Open, Decode(whole), Apply(0), Materialise, Apply(1), Materialise, Store
//   crop_into_decode               Read, Open, Select(0), Decode(selected), Apply(0), Materialise, ..., Store
//   resize_into_decode             Read, Open, Select(0), DecodeResize(selected, 0), Materialise, ..., Store
//   scan_index                     Read, Open, Select(0), DecodeResize(selected, scan index; 0), Materialise, ...
//   operation_fusion               Read, Open, Select(0), DecodeResize(selected, 0), Apply(1), Store
//
// After all passes that of `random_resized_crop` alone is Read, Open, Select(0), DecodeResize(selected, scan index; 0),
// Store. The first decoding of a JPEG then reads its whole scan and records an index; later ones begin at the MCU rows
// of the region. scale_into_decode is approximate, therefore off by default.
// With a cache of pixels (pass cache): CacheLookup, Read, Open, Decode(whole), CacheInsert, Apply(0), ..., Store.
// All passes, in order: spec/pass_table.inl. `unstarve explain DATA --passes` prints the program after each.
//
// Operations are referred to by their index in the pipeline. Random numbers are keyed by that index, not by the
// position of a step, so that a pass may reorder steps without changing what is drawn.
// Steps work on named fields (verify.h). To add a step: its struct and its row in `Step` here, its fields in `Uses` and
// further rules in verify.cpp, its text in explain.cpp, and its execution, an overload of SampleProgram::run()
// (executor/sample_program.cpp).

#include <cstddef>
#include <cstdint>
#include <variant>

#include "unstarve/ops/store/store_format.h"

namespace unstarve {

using OpIndex = std::uint32_t;    // into PipelineSpec::operations
using StepIndex = std::uint32_t;  // into Plan::steps

// Base of the steps without parameters, which are all equal.
struct NoParameters {
  friend bool operator==(const NoParameters&, const NoParameters&) = default;
};

// Obtains the record: encoded bytes or stored pixels, and the label. Reads it unless the read-ahead has.
struct ReadStep {
  bool cached = false;  // through the cache of encoded records
  friend bool operator==(const ReadStep&, const ReadStep&) = default;
};

// Takes the pixels of a record that are stored undecoded.
struct UsePixelsStep : NoParameters {};

// Parses the header of the encoded image; its logical size is known from here on.
struct OpenStep : NoParameters {};

// Draws the region that operation `op` reads before the image is decoded: the region that the decode step produces. Its
// ApplyStep has kSelected.
struct SelectStep {
  OpIndex op = 0;
  friend bool operator==(const SelectStep&, const SelectStep&) = default;
};

// Whether JPEG may be decoded at 1/2, 1/4 or 1/8 where the result is still at least as large as the target.
enum class Reduction { kNever, kAllowed };

// Draws the region that `op` reads of the output of `resize`, and narrows the selection of `resize` to the pixels that
// this region depends on. Does nothing for an image where that is impossible: one decoded at a reduced scale, or a
// region beyond the image's edges. Its ApplyStep (kSelectedThrough) draws it then.
struct SelectThroughStep {
  OpIndex op = 0;
  OpIndex resize = 0;                       // the first operation
  Reduction reduction = Reduction::kNever;  // that of the decode step
  friend bool operator==(const SelectThroughStep&, const SelectThroughStep&) = default;
};

// How much of the image is decoded. With kWhole, pixels outside the selected region are decoded and cropped away.
enum class DecodeRegion { kWhole, kSelected };
// Whether the positions of MCU rows (8 or 16 rows of pixels) within the JPEG are looked up, and recorded where they are
// missing.
enum class ScanIndexUse { kNone, kUse };

// Decodes the opened image.
struct DecodeStep {
  DecodeRegion region = DecodeRegion::kWhole;
  Reduction reduction = Reduction::kNever;
  ScanIndexUse index = ScanIndexUse::kNone;
  friend bool operator==(const DecodeStep&, const DecodeStep&) = default;
};

// Decodes the opened image and applies `op`, a resize of the selected region, to each row after it is decoded. Images
// that cannot be decoded row by row are decoded first and resized afterwards, with equal results.
struct DecodeResizeStep {
  DecodeStep decode{};
  OpIndex op = 0;
  friend bool operator==(const DecodeResizeStep&, const DecodeResizeStep&) = default;
};

// The region of its input that an operation reads.
enum class OpRegion {
  kDrawn,            // drawn by ApplyStep itself
  kSelected,         // drawn by SelectStep, and decoded; narrowed by SelectThroughStep, if that follows
  kSelectedThrough,  // drawn by SelectThroughStep; by ApplyStep for an image where that is impossible
};

// Applies operation `op` to the region that it reads.
struct ApplyStep {
  OpIndex op = 0;
  OpRegion region = OpRegion::kDrawn;
  friend bool operator==(const ApplyStep&, const ApplyStep&) = default;
};

// Writes pending crops, mirrors and colour changes to an image.
struct MaterialiseStep : NoParameters {};

// Continues at step `on_hit` with the cached pixels of the sample, if there are any: those after the first `operations`
// operations.
struct CacheLookupStep {
  StepIndex on_hit = 0;
  OpIndex operations = 0;
  friend bool operator==(const CacheLookupStep&, const CacheLookupStep&) = default;
};

// Puts the pixels into the cache, if it has room.
struct CacheInsertStep : NoParameters {};

// The sizes of the samples of a batch. Of samples that are loaded singly, any.
enum class SampleSizes { kEqual, kPadded, kAny };

// Converts the pixels to `format` and writes them to the sample's part of the batch slot.
struct StoreStep {
  StoreFormat format{};
  SampleSizes sizes = SampleSizes::kEqual;  // other samples are bad; kPadded: up to the size of the padded batch
  bool files = false;                       // some samples are stored as files, for a device to decode
  friend bool operator==(const StoreStep&, const StoreStep&) = default;
};

using Step = std::variant<ReadStep, UsePixelsStep, OpenStep, SelectStep, SelectThroughStep, DecodeStep,
                          DecodeResizeStep, ApplyStep, MaterialiseStep, CacheLookupStep, CacheInsertStep, StoreStep>;

// The steps of a batch, after all of its samples are stored.

// Closes the gaps that skipped samples leave (errors.policy: skip).
struct CompactStep : NoParameters {};

// Fills samples of varying sizes up to one size.
struct PadStep : NoParameters {};

// Writes one-hot rows of the labels to the batch's targets.
struct OneHotStep : NoParameters {};

// Applies batch operation `op`, an index into PipelineSpec::batch_operations.
struct BatchApplyStep {
  OpIndex op = 0;
  friend bool operator==(const BatchApplyStep&, const BatchApplyStep&) = default;
};

// Repeats samples up to the batch size (batch.last: pad).
struct RepeatStep : NoParameters {};

using BatchStep = std::variant<CompactStep, PadStep, OneHotStep, BatchApplyStep, RepeatStep>;

}  // namespace unstarve
