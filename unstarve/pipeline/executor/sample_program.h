#pragma once
// A plan's program of a sample, for one thread: from a sample id to pixels in the batch slot.
//
// Interprets plan.steps and knows nothing else of the pipeline. Holds what a thread needs for itself (decoder, scratch
// images, record), so that a sample allocates nothing once the largest has been seen.
//
// Threads:   one per program; plan and resources are shared.
// Failure:   make() throws Error with the location of the sample. The program can make the next sample afterwards.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/aligned.h"
#include "unstarve/core/cache_fetch.h"
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
  // Where decoding is shared with a device and counted; null: neither.
  struct Decoding {
    DecodeBalance* balance = nullptr;
    DecodeCounts* counts = nullptr;
  };

  // All arguments must outlive the program.
  SampleProgram(const Plan& plan, const Resources& resources) : SampleProgram(plan, resources, Decoding()) {}
  SampleProgram(const Plan& plan, const Resources& resources, Decoding decoding);

  // Enters an epoch: operations may follow a schedule. A new program is in epoch 0.
  void enter(std::uint32_t epoch);
  // Runs all steps but the last for `sample` (order/draws.h), and returns its label. The clock is read only for samples
  // that are `timed`. `is_read`: record() holds the sample's record already.
  std::int64_t make(Sample sample, StageTotals& totals, bool timed, bool is_read = false);
  // Runs StoreStep for the sample that make() made, and returns its size. `pixels` has made_bytes().
  Size store(std::uint8_t* pixels, StageTotals& totals, bool timed);

  // Bytes is 0 unless the sample that make() made stays a file, which store() then copies instead of pixels.
  [[nodiscard]] const FileExtent& file() const { return file_; }
  [[nodiscard]] RecordBuffer& record() { return record_; }
  // Announces the sample after the next one: its record is fetched to the CPU's cache meanwhile.
  void announce(std::uint64_t id) { fetch_ = CacheFetch(resources_.dataset->prefetch(id)); }

  [[nodiscard]] std::size_t sample_bytes() const { return storer_.sample_bytes(size_); }  // of the epoch's largest
  [[nodiscard]] Size made_size() const { return frame_.size(); }
  [[nodiscard]] std::size_t made_bytes() const { return storer_.sample_bytes(frame_.size()); }

 private:
  // An operation's random numbers, and whether its region has been drawn.
  struct Draws {
    Random random;
    bool selected = false;
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
  StepIndex run(const StoreStep& step, StepIndex at);

  [[nodiscard]] const Value& image() const { return record_.values[static_cast<std::size_t>(plan_.data.image_field)]; }
  [[nodiscard]] StepIndex last() const { return static_cast<StepIndex>(plan_.steps.size()) - 1; }
  Draws& draws_of(OpIndex op);
  // Decodes as planned: to `rows` where possible, which it returns, else to decoded_.
  bool decode(const DecodePlan& how, RowSink* rows);
  void use_decoded(const DecodePlan& how);
  // Whether the image stays a file.
  bool leave_to_device(const DecodePlan& how);
  void measure_decoding(const DecodePlan& how, std::int64_t start_ns);
  // Runs `work` on behalf of the image or of an operation; errors name the sample's location, and the operation.
  template <class Work>
  void locate_image(const Work& work);
  template <class Work>
  void locate_operation(OpIndex op, const Work& work);
  void check_size() const;
  // Borrows memory for an image beyond the worker's share; give_back() returns it, and the buffers with it.
  void borrow_for(Size image);
  void give_back();

  const Plan& plan_;
  const Resources& resources_;
  const Decoding decoding_;
  const Stage* stage_ = nullptr;  // of the epoch
  Size size_;
  Storer storer_;
  Decoder decoder_;
  RecordBuffer record_;
  CacheFetch fetch_;
  Image decoded_;
  Image to_cache_;
  Scratch scratch_;
  std::vector<std::uint8_t> index_;  // the scan index of the image
  std::uint64_t borrowed_ = 0;

  // The sample at hand.
  Sample sample_;
  bool is_read_ = false;
  std::int64_t label_ = 0;
  ImageHeader header_;
  Selection selection_;
  std::vector<Draws> draws_;  // by operation
  bool has_pixels_ = false;   // frame_ holds the image
  Frame frame_;               // borrows from the scratch, the record or a cache
  FileExtent file_{};
  std::optional<StageClock> clock_;
};

}  // namespace unstarve
