#include "unstarve/pipeline/executor/sample_program.h"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/resize/resize.h"
#include "unstarve/ops/resize/resize_rows.h"
#include "unstarve/pipeline/device/decode_balance.h"
#include "unstarve/pipeline/executor/decode_counts.h"

namespace unstarve {
namespace {

std::size_t rgb_bytes(Size size) {
  return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) * kChannels;
}

bool is_error(const std::exception& error) { return dynamic_cast<const Error*>(&error) != nullptr; }

}  // namespace

SampleProgram::SampleProgram(const Plan& plan, const Resources& resources, Decoding decoding)
    : plan_(plan), resources_(resources), decoding_(decoding), storer_(plan.store().format) {
  streams_.resize(plan.spec.operations.size(), Random(0, 0, 0, 0));
  begin_epoch(0);
}

void SampleProgram::begin_epoch(std::uint32_t epoch) {
  stage_ = &plan_.stage(epoch);
  size_ = plan_.size_at(epoch);
}

template <class Work>
void SampleProgram::with_image_location(const Work& work) {
  const std::span<const std::uint8_t> bytes = image().bytes;
  try {
    work();
    check_map(bytes);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInput) check_map(bytes);  // lost pages read as zeros, like damage
    throw Error(error.kind(), resources_.dataset->location(current_.sample.id) + ": " + error.what());
  }
}

template <class Work>
void SampleProgram::with_operation_location(OpIndex op, const Work& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // an added operation may throw anything
    const ErrorKind kind = is_error(error) ? dynamic_cast<const Error&>(error).kind() : ErrorKind::kInternal;
    throw Error(kind, fmt::format("{}: operations[{}] {}: {}", resources_.dataset->location(current_.sample.id), op,
                                  plan_.spec.operations[op].name, error.what()));
  }
}

std::int64_t SampleProgram::make(Sample sample, StageTotals& totals, bool timed, bool is_read) {
  current_.sample = sample;
  current_.is_read = is_read;
  try {
    return run_steps(timed, totals);
  } catch (...) {
    give_back();
    throw;
  }
}

std::int64_t SampleProgram::run_steps(bool timed, StageTotals& totals) {
  clock_.emplace(totals, timed);
  if (timed) ++totals.timed_samples;
  current_.file = {};
  for (StepIndex at = 0, end = last(); at < end;)  // calls the run() of each step's type, below
    at = std::visit([&](const auto& step) { return run(step, at); }, plan_.steps[at]);
  if (current_.file[0] > 0) {  // left to a device
    clock_->lap(WorkStage::kDecode, 0);
    clock_->lap(WorkStage::kAugment, 0);
    return current_.label;
  }
  check_size();
  clock_->lap(WorkStage::kAugment, rgb_bytes(current_.frame.size()));
  return current_.label;
}

StepIndex SampleProgram::run(const ReadStep&, StepIndex at) {
  // The dataset as opened, or with a cache of its records in front (ReadStep::cached).
  if (!current_.is_read) resources_.dataset->read(current_.sample.id, buffers_.record);
  const int field = plan_.facts.label_field;
  current_.label = field < 0 ? kNoLabel : buffers_.record.values[static_cast<std::size_t>(field)].integer;
  clock_->lap(WorkStage::kRead, plan_.facts.encoded ? image().bytes.size() : 0);
  return at + 1;
}

StepIndex SampleProgram::run(const UsePixelsStep&, StepIndex at) {
  current_.frame.reset(image().pixels);
  return at + 1;
}

// Detects the format and reads the header. All of the image is selected at first.
StepIndex SampleProgram::run(const OpenStep&, StepIndex at) {
  with_image_location([&] { current_.header = buffers_.decoder.open(image().bytes, plan_.spec.decode.max_pixels); });
  current_.selection = select_all(current_.header.size);
  return at + 1;
}

StepIndex SampleProgram::run(const SelectStep& step, StepIndex at) {
  Random& random = streams_[step.op] = stream_of(step.op);
  with_operation_location(
      step.op, [&] { current_.selection = select_for(*stage_->operations[step.op], current_.header.size, random); });
  return at + 1;
}

StepIndex SampleProgram::run(const SelectThroughStep& step, StepIndex at) {
  Random& random = streams_[step.op] = stream_of(step.op);
  with_operation_location(step.op, [&] {
    (void)select_through({step, stage_->operations}, current_.header, current_.selection, random, buffers_.scratch);
  });
  return at + 1;
}

bool SampleProgram::decode(const DecodePlan& how, RowSink* rows) {
  if (resources_.larger_images) borrow_for(how);
  DecodeRequest request{how.crop, how.reduction};
  ScanIndexStore* const store = how.index ? resources_.scan_index.get() : nullptr;
  if (store != nullptr && store->find(current_.sample.id, buffers_.index)) request.index = buffers_.index;
  request.make_index = store != nullptr && store->writable();
  const bool in_rows = rows != nullptr && buffers_.decoder.decode(request, *rows, buffers_.decoded);
  if (rows == nullptr) buffers_.decoder.decode(request, buffers_.decoded);
  if (decoding_.counts != nullptr)
    decoding_.counts->count(current_.header, how.reduction, buffers_.decoder.used_own_decoder());
  if (store == nullptr) return in_rows;
  if (buffers_.decoder.index_use() == IndexUse::kUsed) {
    store->count_used();
    return in_rows;
  }
  if (buffers_.decoder.index_use() == IndexUse::kWrong) store->count_wrong(current_.sample.id);
  if (buffers_.decoder.index_use() == IndexUse::kOtherVersion) store->count_other_version(current_.sample.id);
  store->put(current_.sample.id, buffers_.decoder.made_index());
  return in_rows;
}

// Crops away what was decoded beyond the selected region.
void SampleProgram::use_decoded(const DecodePlan& how) {
  current_.frame.reset(buffers_.decoded.view());
  const bool cropped = how.crop.width > 0;
  const Rect& region = current_.selection.region;
  const int r = how.reduction;
  if (!cropped && r == 1) current_.frame.crop(region);
  if (!cropped && r > 1)
    current_.frame.crop({region.x / r, region.y / r, (region.x + region.width + r - 1) / r - region.x / r,
                         (region.y + region.height + r - 1) / r - region.y / r});
}

bool SampleProgram::leave_to_device(const DecodePlan& how) {
  if (decoding_.balance == nullptr) return false;
  const std::span<const std::uint8_t> bytes = image().bytes;
  const std::int64_t pixels = std::int64_t{how.stored.width} * how.stored.height;
  if (!decoding_.balance->to_device(current_.sample.draw, current_.sample.id,
                                    {current_.header, bytes.size(), pixels, sample_bytes()}))
    return false;
  current_.file = {static_cast<std::int32_t>(bytes.size()), current_.header.size.height, current_.header.size.width};
  return true;
}

void SampleProgram::measure_decoding(const DecodePlan& how, std::int64_t start_ns) {
  if (decoding_.balance == nullptr) return;
  const auto ns = static_cast<double>(steady_clock().now_ns() - start_ns);
  decoding_.balance->host_took(image().bytes.size(), std::int64_t{how.stored.width} * how.stored.height, ns * 1e-9);
}

StepIndex SampleProgram::run(const DecodeStep& step, StepIndex at) {
  const DecodePlan how = plan_decode(current_.header, decode_hint(step, current_.selection));
  if (leave_to_device(how)) return last();
  const std::int64_t start_ns = decoding_.balance != nullptr ? steady_clock().now_ns() : 0;
  with_image_location([&] { decode(how, nullptr); });
  use_decoded(how);
  measure_decoding(how, start_ns);
  clock_->lap(WorkStage::kDecode, buffers_.decoded.bytes());
  return at + 1;
}

// The decoder (codecs/decoder.cpp, for JPEG codecs/jpeg/jpeg_decoder.cpp) passes the rows of the region to `rows`,
// which resizes each and adds it to the output, so that the decoded image is never in memory as a whole.
StepIndex SampleProgram::run(const DecodeResizeStep& step, StepIndex at) {
  // how.crop is the selected region; its width is 0 if the whole image is decoded, as for a region beyond the edges.
  const DecodePlan how = plan_decode(current_.header, decode_hint(step.decode, current_.selection));
  const bool all = current_.selection.region == Rect{0, 0, current_.header.size.width, current_.header.size.height};
  if (how.crop.width == 0 && !all) {  // the whole image is decoded, but the resize reads a part
    const StepIndex next = run(step.decode, at);
    return current_.file[0] > 0 ? next : run(ApplyStep{step.op, OpRegion::kSelected}, at);
  }
  if (leave_to_device(how)) return last();
  const std::int64_t start_ns = decoding_.balance != nullptr ? steady_clock().now_ns() : 0;
  const Operation& operation = *stage_->operations[step.op];
  const auto target = [&](Size size) {
    return current_.selection.part ? *current_.selection.part
                                   : whole_resize(size, operation.only_resizes(size).value());
  };
  ResizeRows rows(target, current_.header.orientation, buffers_.scratch, clock_->timed());
  bool resized = false;
  with_image_location([&] { resized = decode(how, &rows); });
  measure_decoding(how, start_ns);
  if (resized) {
    current_.frame.reset(rows.pixels());
    clock_->lap(WorkStage::kDecode, rgb_bytes(rows.taken()), rows.spent_ns());
    return at + 1;
  }
  use_decoded(how);
  clock_->lap(WorkStage::kDecode, buffers_.decoded.bytes());
  return run(ApplyStep{step.op, OpRegion::kSelected}, at);
}

StepIndex SampleProgram::run(const ApplyStep& step, StepIndex at) {
  const Operation& operation = *stage_->operations[step.op];
  const std::optional<ResizePart>& part = current_.selection.part;  // set by SelectThroughStep
  with_operation_location(step.op, [&] {
    if (step.region == OpRegion::kSelected && part) {
      resize_part(current_.frame, *part, buffers_.scratch);
    } else if (step.region == OpRegion::kSelected || (step.region == OpRegion::kSelectedThrough && part)) {
      operation.apply(current_.frame, streams_[step.op], buffers_.scratch);
    } else {
      Random random = stream_of(step.op);
      current_.frame.crop(operation.select(current_.frame.size(), random));
      operation.apply(current_.frame, random, buffers_.scratch);
    }
  });
  return at + 1;
}

StepIndex SampleProgram::run(const MaterialiseStep&, StepIndex at) {
  make_pixels(current_.frame, buffers_.scratch);
  return at + 1;
}

StepIndex SampleProgram::run(const CacheLookupStep& step, StepIndex at) {
  const auto cached = resources_.pixel_cache->find(current_.sample.id);
  if (!cached) return at + 1;
  current_.frame.reset(cached->pixels);
  current_.label = cached->label;
  const PixelView& pixels = cached->pixels;
  clock_->lap(WorkStage::kRead, static_cast<std::size_t>(pixels.row_stride) * static_cast<std::size_t>(pixels.height));
  clock_->lap(WorkStage::kDecode, 0);
  return step.on_hit;
}

StepIndex SampleProgram::run(const CacheInsertStep&, StepIndex at) {
  if (current_.frame.inside() && !current_.frame.mirrored && current_.frame.points == nullptr &&
      current_.frame.pixels.interleaved()) {
    PixelView part = current_.frame.pixels;
    part.data += current_.frame.top * part.row_stride + std::ptrdiff_t{current_.frame.left} * kChannels;
    part.width = current_.frame.width;
    part.height = current_.frame.height;
    resources_.pixel_cache->put(current_.sample.id, current_.label, part);
    return at + 1;
  }
  buffers_.to_cache.resize(current_.frame.size());
  copy_window(current_.frame, 0, current_.frame.height,
              {buffers_.to_cache.data(), static_cast<std::ptrdiff_t>(buffers_.to_cache.row_bytes()), 1});
  resources_.pixel_cache->put(current_.sample.id, current_.label, buffers_.to_cache.view());
  return at + 1;
}

StepIndex SampleProgram::run(const StoreStep&, StepIndex at) { return at + 1; }

void SampleProgram::check_size() const {
  const Size made = current_.frame.size();
  const SampleSizes sizes = plan_.store().sizes;
  if (sizes == SampleSizes::kPadded && (made.width > size_.width || made.height > size_.height))
    throw input_error(
        "{}: the operations produce {}x{} pixels; expected at most {}x{}, the size that batches are padded to. "
        "Increase batch.pad.size, or resize before.",
        resources_.dataset->location(current_.sample.id), made.width, made.height, size_.width, size_.height);
  if (sizes == SampleSizes::kEqual && made != size_)
    throw input_error(
        "{}: the operations produce {}x{} pixels; expected {}x{}, the size of the batch. Add an operation with a fixed "
        "size (random_resized_crop, center_crop), or pad the batches (batch.pad).",
        resources_.dataset->location(current_.sample.id), made.width, made.height, size_.width, size_.height);
}

Size SampleProgram::store(std::uint8_t* pixels, StageTotals& totals, bool timed) {
  StageClock clock(totals, timed);
  Size size = size_;
  if (current_.file[0] > 0) {
    const std::span<const std::uint8_t> bytes = image().bytes;
    std::memcpy(pixels, bytes.data(), bytes.size());
    check_map(bytes);
    clock.lap(WorkStage::kStore, bytes.size());
  } else {
    storer_.store(current_.frame, pixels, &fetch_);
    if (!plan_.facts.encoded) check_map(image().pixels);
    size = current_.frame.size();
    clock.lap(WorkStage::kStore, storer_.sample_bytes(size));
  }
  give_back();
  return size;
}

void SampleProgram::borrow_for(const DecodePlan& how) {
  const Size image = current_.header.size;
  // Decoders read baseline JPEG row by row, other files as a whole.
  const JpegKind kind = current_.header.jpeg;
  const bool in_rows = kind == JpegKind::kBaseline || kind == JpegKind::kColour || kind == JpegKind::kSampling;
  const WorkerLoad load{buffers_.record.storage.capacity(), current_.selection.region.size(), how.stored.size(),
                        in_rows ? Size{} : image, resources_.pixel_cache != nullptr};
  borrowed_ = resources_.larger_images->borrow(worker_bytes(load, stage_->operations), image);
}

void SampleProgram::give_back() {
  if (borrowed_ == 0) return;
  buffers_ = {};
  resources_.larger_images->give_back(std::exchange(borrowed_, 0));
}

}  // namespace unstarve
