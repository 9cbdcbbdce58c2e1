#pragma once
// Executes a plan's program (plan/step.h) for one sample after the other: from a sample id to pixels in a batch slot.
//
// Interprets plan.steps; knows no batches, threads or delivery.
//
// Ownership: owns what one thread needs (decoder, scratch images, record); borrows plan and resources.
// Threads:   one per program.
// Failure:   make() throws Error with the location of the sample; the next make() is not affected.
// Cost:      no allocation per sample once the largest was seen, except under a memory limit.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/core/memory/cache_fetch.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/executor/resources.h"
#include "unstarve/pipeline/executor/stage_times.h"
#include "unstarve/pipeline/order/draws.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/plan/sample_extent.h"
#include "unstarve/pipeline/plan/selection.h"

namespace unstarve {

class DecodeBalance;
class DecodeCounts;

class SampleProgram {
 public:
  // Shares decoding with a device, and counts it; null: neither.
  struct Decoding {
    DecodeBalance* balance = nullptr;
    DecodeCounts* counts = nullptr;
  };

  // All arguments must outlive the program.
  SampleProgram(const Plan& plan, const Resources& resources) : SampleProgram(plan, resources, Decoding()) {}
  SampleProgram(const Plan& plan, const Resources& resources, Decoding decoding);

  // Selects the operations of an epoch (schedules). A new program is in epoch 0.
  void begin_epoch(std::uint32_t epoch);
  // Executes all steps except the last, and returns the label. Only `timed` samples read the clock. `is_read`: record()
  // holds the record already.
  std::int64_t make(Sample sample, StageTotals& totals, bool timed, bool is_read = false);
  // Executes StoreStep for the sample of make(), and returns its size. `pixels` has room for output_bytes(), or, if
  // file() is set, for the bytes of the file.
  Size store(std::uint8_t* pixels, StageTotals& totals, bool timed);

  // The file that store() copies instead of pixels; bytes are 0 unless the sample of make() is left to a device.
  [[nodiscard]] const FileExtent& file() const { return current_.file; }
  [[nodiscard]] RecordBuffer& record() { return buffers_.record; }
  // `id`: the sample after the next make(). Its record is brought into the CPU's cache meanwhile.
  void announce(std::uint64_t id) { fetch_ = CacheFetch(resources_.dataset->prefetch(id)); }

  [[nodiscard]] std::size_t sample_bytes() const { return storer_.sample_bytes(size_); }  // of the epoch's largest
  [[nodiscard]] Size output_size() const { return current_.frame.size(); }
  [[nodiscard]] std::size_t output_bytes() const { return storer_.sample_bytes(output_size()); }

 private:
  // Memory that grows with the largest image.
  struct Buffers {
    RecordBuffer record;
    Decoder decoder;
    Image decoded;
    Image to_cache;
    Scratch scratch;
    std::vector<std::uint8_t> index;  // the scan index of the image
  };
  struct Current {
    Sample sample;
    bool is_read = false;
    std::int64_t label = 0;
    ImageHeader header;
    Selection selection;
    Frame frame;  // a window on pixels of the buffers or a cache, with changes that are not carried out yet
    FileExtent file{};
  };

  std::int64_t run_steps(bool timed, StageTotals& totals);
  // Each executes one step and returns the index of the next.
  StepIndex run(const ReadStep& step, StepIndex at);
  StepIndex run(const UsePixelsStep& step, StepIndex at);
  StepIndex run(const OpenStep& step, StepIndex at);
  StepIndex run(const SelectStep& step, StepIndex at);
  StepIndex run(const SelectThroughStep& step, StepIndex at);
  StepIndex run(const DecodeStep& step, StepIndex at);
  StepIndex run(const DecodeResizeStep& step, StepIndex at);
  StepIndex run(const ApplyStep& step, StepIndex at);
  StepIndex run(const MaterialiseStep& step, StepIndex at);
  StepIndex run(const CacheLookupStep& step, StepIndex at);
  StepIndex run(const CacheInsertStep& step, StepIndex at);
  StepIndex run(const StoreStep& step, StepIndex at);  // never called: store() executes the last step

  [[nodiscard]] const Value& image() const {
    return buffers_.record.values[static_cast<std::size_t>(plan_.facts.image_field)];
  }
  [[nodiscard]] StepIndex last() const { return static_cast<StepIndex>(plan_.steps.size()) - 1; }
  // The random numbers of an operation, from the first on: those of this sample in any run, by any thread.
  [[nodiscard]] Random stream_of(OpIndex op) const {
    return {plan_.spec.order.seed, current_.sample.draw, current_.sample.id, op};
  }
  // Decodes to `rows` if that is possible, otherwise to buffers_.decoded; returns whether to `rows`.
  bool decode(const DecodePlan& how, RowSink* rows);
  void use_decoded(const DecodePlan& how);
  // Whether a device decodes the image.
  bool leave_to_device(const DecodePlan& how);
  void measure_decoding(const DecodePlan& how, std::int64_t start_ns);
  // Runs `work`, which concerns the image or an operation; its errors name the location, and the operation.
  template <class Work>
  void with_image_location(const Work& work);
  template <class Work>
  void with_operation_location(OpIndex op, const Work& work);
  void check_size() const;
  // Borrows what decoding and the operations need beyond the worker's share. give_back() returns it, and frees the
  // buffers.
  void borrow_for(const DecodePlan& how);
  void give_back();

  const Plan& plan_;
  const Resources& resources_;
  const Decoding decoding_;
  const Storer storer_;
  const ScheduleStage* stage_ = nullptr;  // of the epoch
  Size size_;                             // of the epoch's largest sample
  CacheFetch fetch_;
  Buffers buffers_;
  std::uint64_t borrowed_ = 0;
  std::vector<Random> streams_;  // by operation; continued by ApplyStep for operations that were selected
  Current current_;
  std::optional<StageClock> clock_;  // of the current sample
};

}  // namespace unstarve
