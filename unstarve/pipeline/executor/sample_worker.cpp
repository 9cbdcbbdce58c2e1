#include "unstarve/pipeline/executor/sample_worker.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/core/thread_time.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/resize/resize.h"
#include "unstarve/ops/resize/resize_rows.h"
#include "unstarve/pipeline/plan/decode_notes.h"

namespace unstarve {

// Laps between stages; reads the clock only for timed samples.
class SampleWorker::StageClock {
 public:
  StageClock(StageTotals& totals, bool timed) : totals_(totals), timed_(timed) {
    if (!timed_) return;
    if (totals_.take_cpu) last_cpu_ = thread_cpu_ns();
    last_ = steady_clock().now_ns();
  }
  [[nodiscard]] bool timed() const { return timed_; }
  // `later_ns` of the time belong to the next lap.
  void lap(Stage stage, std::size_t bytes, std::int64_t later_ns = 0) {
    const auto index = static_cast<std::size_t>(stage);
    totals_.bytes[index] += static_cast<std::int64_t>(bytes);
    if (!timed_) return;
    const std::int64_t now = steady_clock().now_ns();
    const std::int64_t ns = now - last_ - later_ns;
    totals_.ns[index] += ns;
    totals_.squares_us2[index] += static_cast<double>(ns) * static_cast<double>(ns) * 1e-6;
    if (totals_.take_cpu) {
      const std::int64_t cpu = thread_cpu_ns();
      totals_.both_ns[index] += ns;
      totals_.cpu_ns[index] += cpu - last_cpu_ - later_ns;
      last_cpu_ = cpu - later_ns;
    }
    last_ = steady_clock().now_ns() - later_ns;
  }

 private:
  StageTotals& totals_;
  const bool timed_;
  std::int64_t last_ = 0, last_cpu_ = 0;
};

SampleWorker::SampleWorker(const Plan& plan, DecodeBalance* balance, DecodeCounts* decoded)
    : plan_(plan), balance_(balance), counts_(decoded), storer_(plan.spec.output) {
  enter(0);
}

void SampleWorker::count_decoded(const ImageHeader& header, int reduction) {
  if (counts_ != nullptr) counts_->count(header, reduction, decoder_.used_own_decoder());
}

bool SampleWorker::leave_to_device(const ImageHeader& header, std::span<const std::uint8_t> bytes, std::int64_t pixels,
                                   std::uint64_t id, std::uint32_t draw) {
  host_pixels_ = pixels;
  if (!balance_->to_device(draw, id, header, bytes.size(), pixels, sample_bytes())) return false;
  file_ = {static_cast<std::int32_t>(bytes.size()), header.size.height, header.size.width};
  file_bytes_ = bytes;
  return true;
}

std::size_t SampleWorker::decode(const Value& value, std::uint64_t id, std::uint32_t draw, Frame& frame,
                                 StageClock& clock) {
  const ImageHeader header = decoder_.open(value.bytes, plan_.spec.decode.max_pixels);
  if (plan_.larger_images) borrow_for(header.size);
  const bool first_selects =
      plan_.crop_into_resize || plan_.crop_into_decode || plan_.scale_into_decode || plan_.resize_into_decode;
  if (!first_selects) {
    const std::int64_t all = std::int64_t{header.size.width} * header.size.height;
    if (balance_ != nullptr && leave_to_device(header, value.bytes, all, id, draw)) return operations_->size();
    decoder_.decode({}, decoded_);
    count_decoded(header, 1);
    frame = Frame(decoded_.view());
    clock.lap(Stage::kDecode, decoded_.bytes());
    return 0;
  }
  const Operation& first = *(*operations_)[0];
  FirstDraws draws(plan_.spec.order.seed, draw, id);
  const FirstSteps steps = first_steps(plan_, *operations_, header, draws, scratch_);
  const Rect& selected = steps.hint.selected;
  const DecodePlan how = plan_decode(header, steps.hint);
  const std::int64_t part = std::int64_t{how.stored.width} * how.stored.height;
  if (balance_ != nullptr && leave_to_device(header, value.bytes, part, id, draw)) return operations_->size();
  // The first operation may have been done on the way; where it made what the second one reads, that is next.
  const auto go_on = [&](bool resized) {
    if (!resized && steps.part) {
      resize_part(frame, *steps.part, scratch_);
    } else if (!resized) {
      first.apply(frame, draws.first, scratch_);
    }
    finish_operation(frame);
    if (!steps.part) return std::size_t{1};
    (*operations_)[1]->apply(frame, draws.second, scratch_);
    finish_operation(frame);
    return std::size_t{2};
  };
  DecodeRequest request{how.crop, how.reduction};
  const bool cropped = request.crop.width > 0;
  if (plan_.resize_into_decode && (cropped || selected == Rect{0, 0, header.size.width, header.size.height})) {
    const auto target = [&](Size size) {
      return steps.part ? *steps.part : whole_resize(size, first.only_resizes(size).value());
    };
    ResizeRows rows(target, header.orientation, scratch_, clock.timed());
    if (decode(id, header, request, how.index, &rows)) {
      frame = rows.frame();
      const Size taken = rows.taken();
      clock.lap(Stage::kDecode,
                static_cast<std::size_t>(taken.width) * static_cast<std::size_t>(taken.height) * kChannels,
                rows.spent_ns());
      return go_on(true);
    }
  } else {
    decode(id, header, request, how.index, nullptr);
  }
  frame = Frame(decoded_.view());
  if (!cropped && request.reduction == 1) frame.crop(selected);
  if (!cropped && request.reduction > 1) {
    const int r = request.reduction;
    frame.crop({selected.x / r, selected.y / r, (selected.x + selected.width + r - 1) / r - selected.x / r,
                (selected.y + selected.height + r - 1) / r - selected.y / r});
  }
  clock.lap(Stage::kDecode, decoded_.bytes());
  return go_on(false);
}

bool SampleWorker::decode(std::uint64_t id, const ImageHeader& header, DecodeRequest& request, bool by_index,
                          RowSink* rows) {
  if (by_index && plan_.scan_index->find(id, index_)) request.index = index_;
  request.make_index = by_index && plan_.scan_index->writable();
  const bool in_rows = rows != nullptr && decoder_.decode(request, *rows, decoded_);
  if (rows == nullptr) decoder_.decode(request, decoded_);
  count_decoded(header, request.reduction);
  if (!by_index) return in_rows;
  ScanIndexStore& store = *plan_.scan_index;
  if (decoder_.index_use() == IndexUse::kUsed) {
    store.count_used();
    return in_rows;
  }
  if (decoder_.index_use() == IndexUse::kWrong) store.count_wrong(id);
  if (decoder_.index_use() == IndexUse::kOtherVersion) store.count_other_version(id);
  store.put(id, decoder_.made_index());
  return in_rows;
}

void SampleWorker::apply(std::size_t operation, std::uint64_t id, std::uint32_t draw, Frame& frame) {
  Random random(plan_.spec.order.seed, draw, id, static_cast<std::uint32_t>(operation));
  try {
    frame.crop((*operations_)[operation]->select(frame.size(), random));
    (*operations_)[operation]->apply(frame, random, scratch_);
    finish_operation(frame);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // of an operation that a program has added whatever it likes
    const auto* const own = dynamic_cast<const Error*>(&error);
    throw Error(own != nullptr ? own->kind() : ErrorKind::kInternal,
                fmt::format("{}: operations[{}] {}: {}", plan_.dataset->location(id), operation,
                            plan_.spec.operations[operation].name, error.what()));
  }
}

// Without fusion an operation's output is an image.
void SampleWorker::finish_operation(Frame& frame) {
  if (!plan_.fuse_operations) make_pixels(frame, scratch_);
}

void SampleWorker::store(const Frame& frame, std::uint8_t* pixels) {
  if (plan_.store_into_slot) return storer_.store(frame, pixels, &ahead_);
  const std::size_t bytes = storer_.sample_bytes(frame.size());
  stored_.reserve_discard(bytes);
  storer_.store(frame, stored_.data(), &ahead_);
  std::memcpy(pixels, stored_.data(), bytes);
}

std::int64_t SampleWorker::through_cache(std::uint64_t id, std::uint32_t draw, Frame& frame, StageClock& clock,
                                         bool is_read) {
  if (const auto kept = plan_.pixel_cache->find(id)) {
    frame = Frame(kept->pixels);
    clock.lap(Stage::kRead,
              static_cast<std::size_t>(kept->pixels.row_stride) * static_cast<std::size_t>(kept->pixels.height));
    clock.lap(Stage::kDecode, 0);
    return kept->label;
  }
  if (!is_read) plan_.dataset->read(id, record_);
  const Value& value = record_.values[static_cast<std::size_t>(plan_.image_field)];
  const std::int64_t label = label_of(record_);
  clock.lap(Stage::kRead, value.bytes.size());
  decode_located(value, id, draw, frame, clock);
  for (std::size_t i = 0; i < plan_.cached_operations; ++i) apply(i, id, draw, frame);
  if (frame.inside() && !frame.mirrored && frame.points == nullptr && frame.pixels.interleaved()) {
    PixelView part = frame.pixels;
    part.data += frame.top * part.row_stride + std::ptrdiff_t{frame.left} * kChannels;
    part.width = frame.width;
    part.height = frame.height;
    plan_.pixel_cache->put(id, label, part);
  } else {
    to_cache_.resize(frame.size());
    copy_window(frame, 0, frame.height, {to_cache_.data(), static_cast<std::ptrdiff_t>(to_cache_.row_bytes()), 1});
    plan_.pixel_cache->put(id, label, to_cache_.view());
  }
  return label;
}

std::int64_t SampleWorker::label_of(const RecordBuffer& record) const {
  return plan_.label_field < 0 ? 0 : record.values[static_cast<std::size_t>(plan_.label_field)].integer;
}

std::size_t SampleWorker::decode_located(const Value& value, std::uint64_t id, std::uint32_t draw, Frame& frame,
                                         StageClock& clock) {
  try {
    const std::int64_t start_ns = balance_ != nullptr ? steady_clock().now_ns() : 0;
    const std::size_t done = decode(value, id, draw, frame, clock);
    check_map(value.bytes);
    if (balance_ != nullptr && file_[0] == 0) {
      const auto ns = static_cast<double>(steady_clock().now_ns() - start_ns);
      balance_->host_took(value.bytes.size(), host_pixels_, ns * 1e-9);
    }
    return done;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInput) check_map(value.bytes);  // zeros of a lost page look like damage
    throw Error(error.kind(), plan_.dataset->location(id) + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // of an added operation that is the first
    throw Error(ErrorKind::kInternal, plan_.dataset->location(id) + ": " + error.what());
  }
}

void SampleWorker::borrow_for(Size image) {
  const std::uint64_t needed =
      worker_bytes(record_.storage.capacity(), image, plan_.encoded, plan_.pixel_cache != nullptr, *operations_);
  if (needed <= plan_.memory.worker) return;
  const std::uint64_t more = needed - plan_.memory.worker;
  if (more > plan_.larger_images->size())
    throw Error(
        ErrorKind::kMemory,
        fmt::format("{}x{} pixels need {:.1f} MB while they are made, but execution.memory_limit_mb leaves {:.1f} "
                    "for an image; raise it, or make batch, cache or threads smaller",
                    image.width, image.height, static_cast<double>(needed) / 1e6,
                    static_cast<double>(plan_.memory.worker + plan_.larger_images->size()) / 1e6));
  plan_.larger_images->borrow(more);
  borrowed_ = more;
}

void SampleWorker::give_back() {
  if (borrowed_ == 0) return;
  record_ = {};
  decoder_ = Decoder();
  decoded_ = {};
  to_cache_ = {};
  scratch_ = {};
  index_ = {};
  plan_.larger_images->give_back(std::exchange(borrowed_, 0));
}

std::int64_t SampleWorker::make(std::uint64_t id, std::uint32_t draw, StageTotals& totals, bool timed, bool is_read) {
  try {
    return make_within_share(id, draw, totals, timed, is_read);
  } catch (...) {
    give_back();
    throw;
  }
}

std::int64_t SampleWorker::make_within_share(std::uint64_t id, std::uint32_t draw, StageTotals& totals, bool timed,
                                             bool is_read) {
  StageClock clock(totals, timed);
  if (timed) ++totals.timed_samples;
  file_ = {};
  std::int64_t label = 0;
  Frame frame;
  std::size_t done = 0;
  if (plan_.pixel_cache) {
    label = through_cache(id, draw, frame, clock, is_read);
    done = plan_.cached_operations;
  } else {
    if (!is_read) plan_.dataset->read(id, record_);
    const Value& value = record_.values[static_cast<std::size_t>(plan_.image_field)];
    label = label_of(record_);
    clock.lap(Stage::kRead, plan_.encoded ? value.bytes.size() : 0);
    if (plan_.encoded) {
      done = decode_located(value, id, draw, frame, clock);
    } else {
      frame = Frame(value.pixels);
    }
  }
  if (file_[0] > 0) {
    clock.lap(Stage::kDecode, 0);
    clock.lap(Stage::kAugment, 0);
    return label;
  }
  for (std::size_t i = done; i < operations_->size(); ++i) apply(i, id, draw, frame);
  const Size most = size_;
  if (plan_.padded && (frame.width > most.width || frame.height > most.height))
    throw Error(
        ErrorKind::kInput,
        fmt::format("{}: {}x{} pixels come out of the operations, but batches are padded to {}x{} at most; make "
                    "batch.pad.size larger, or resize before",
                    plan_.dataset->location(id), frame.width, frame.height, most.width, most.height));
  if (!plan_.padded && !plan_.any_size && frame.size() != most)
    throw Error(ErrorKind::kInput,
                fmt::format("{}: {}x{} pixels come out of the operations, but the batch needs {}x{}; add an operation "
                            "with a fixed size (random_resized_crop, center_crop), or pad the batches (batch.pad)",
                            plan_.dataset->location(id), frame.width, frame.height, most.width, most.height));
  clock.lap(Stage::kAugment,
            static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height) * kChannels);
  made_ = frame;
  return label;
}

Size SampleWorker::store(std::uint8_t* pixels, StageTotals& totals, bool timed) {
  StageClock clock(totals, timed);
  if (file_[0] > 0) {
    std::memcpy(pixels, file_bytes_.data(), file_bytes_.size());
    check_map(file_bytes_);
    clock.lap(Stage::kStore, file_bytes_.size());
    give_back();
    return size_;
  }
  store(made_, pixels);
  if (!plan_.encoded) check_map(record_.values[static_cast<std::size_t>(plan_.image_field)].pixels);
  const Size size = made_.size();
  clock.lap(Stage::kStore, storer_.sample_bytes(size));
  give_back();
  return size;
}

}  // namespace unstarve
