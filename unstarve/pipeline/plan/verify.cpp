#include "unstarve/pipeline/plan/verify.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "unstarve/ops/base/operation.h"
#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {
namespace {

struct Uses {
  FieldUse operator()(const ReadStep&) const { return {{}, {PlanField::kRecord, PlanField::kLabel}}; }
  FieldUse operator()(const UsePixelsStep&) const { return {{PlanField::kRecord}, {PlanField::kImage}}; }
  FieldUse operator()(const OpenStep&) const { return {{PlanField::kRecord}, {PlanField::kHeader}}; }
  FieldUse operator()(const SelectStep&) const { return {{PlanField::kHeader}, {PlanField::kRegion}}; }
  FieldUse operator()(const SelectThroughStep&) const {
    return {{PlanField::kHeader, PlanField::kRegion}, {PlanField::kInnerRegion}};
  }
  FieldUse operator()(const DecodeStep& step) const {
    FieldUse use{{PlanField::kRecord, PlanField::kHeader}, {PlanField::kImage}};
    if (step.region == DecodeRegion::kSelected || step.reduction == Reduction::kAllowed)
      use.reads.push_back(PlanField::kRegion);
    return use;
  }
  FieldUse operator()(const DecodeResizeStep& step) const {
    return {{PlanField::kRecord, PlanField::kHeader, PlanField::kRegion}, (*this)(step.decode).writes};
  }
  FieldUse operator()(const ApplyStep& step) const {
    FieldUse use{{PlanField::kImage}, {}};
    if (step.region == OpRegion::kSelected) use.reads.push_back(PlanField::kRegion);
    if (step.region == OpRegion::kSelectedThrough) use.reads.push_back(PlanField::kInnerRegion);
    return use;
  }
  FieldUse operator()(const MaterialiseStep&) const { return {{PlanField::kImage}, {}}; }
  FieldUse operator()(const CacheLookupStep&) const { return {}; }
  FieldUse operator()(const CacheInsertStep&) const { return {{PlanField::kImage, PlanField::kLabel}, {}}; }
  FieldUse operator()(const StoreStep&) const { return {{PlanField::kImage, PlanField::kLabel}, {}}; }
};

// Walks one path through the program and keeps track of the fields that are written.
class Walk {
 public:
  explicit Walk(const Plan& plan, bool cache_hit) : plan_(plan), cache_hit_(cache_hit) {}

  std::string run() {
    for (StepIndex at = 0; at < plan_.steps.size();) {
      jump_.reset();
      std::visit([&](const auto& step) { check(step); }, plan_.steps[at]);
      check_fields(plan_.steps[at]);
      if (!problem_.empty()) return fmt::format("step {}: {}", at, problem_);
      if (stored_ && at + 1 != plan_.steps.size()) return fmt::format("step {}: Store is not the last step", at);
      if (jump_ && *jump_ <= at) return fmt::format("step {}: jumps back to step {}", at, *jump_);
      at = jump_.value_or(at + 1);
    }
    if (!stored_) return "the program does not store the sample";
    if (applied_ != operations()) return fmt::format("{} of {} operations are applied", applied_, operations());
    return {};
  }

 private:
  [[nodiscard]] std::size_t operations() const { return plan_.spec.operations.size(); }
  void expect(bool condition, std::string_view what) {
    if (!condition && problem_.empty()) problem_ = what;
  }

  [[nodiscard]] bool written(PlanField field) const { return written_[static_cast<std::size_t>(field)]; }
  void write(PlanField field) { written_[static_cast<std::size_t>(field)] = true; }

  // The fields that the step reads are written, and those that it writes are not.
  void check_fields(const Step& step) {
    const FieldUse use = fields_of(step);
    for (const PlanField field : use.reads)
      if (!written(field)) expect(false, fmt::format("reads the {} before it is written", name_of(field)));
    for (const PlanField field : use.writes) {
      if (written(field)) expect(false, fmt::format("writes the {} a second time", name_of(field)));
      write(field);
    }
  }

  // The rules of a step that its fields do not express.
  template <class StepType>
  void check(const StepType&) {}
  void check(const UsePixelsStep&) { expect(!plan_.facts.encoded, "uses pixels of an encoded image"); }
  void check(const OpenStep&) { expect(plan_.facts.encoded, "opens an image that is stored as pixels"); }
  void check(const SelectStep& step) {
    expect(!written(PlanField::kImage), "selects a region after the image is decoded");
    expect(step.op == 0 && operations() > 0, "selects another operation than the first");
  }
  void check(const SelectThroughStep& step) {
    expect(!written(PlanField::kImage), "selects through a resize after the image is decoded");
    expect(step.resize == 0, "selects through a resize that is not selected");
    expect(step.op == 1, "selects through an operation that does not come directly before");
    expect(step.op < operations(), "selects an operation that does not exist");
    expect(only_resizes(plan_), "selects through an operation that does more than resize");
  }
  void check(const DecodeStep& step) {
    expect(step.index == ScanIndexUse::kNone || step.region == DecodeRegion::kSelected,
           "uses a scan index for a whole image");
  }
  void check(const DecodeResizeStep& step) {
    check(step.decode);
    check(ApplyStep{step.op, OpRegion::kSelected});
    expect(only_resizes(plan_), "decodes into an operation that does more than resize");
  }
  void check(const ApplyStep& step) {
    expect(step.op == applied_ && step.op < operations(), "applies an operation out of order");
    const OpRegion drawn = step.op == 0 && written(PlanField::kRegion)        ? OpRegion::kSelected
                           : step.op == 1 && written(PlanField::kInnerRegion) ? OpRegion::kSelectedThrough
                                                                              : OpRegion::kDrawn;
    expect(step.region == drawn, "applies an operation to another region than was drawn for it");
    ++applied_;
  }
  void check(const CacheLookupStep& step) {
    expect(!written(PlanField::kRecord), "looks up the cache after the record is read");
    expect(step.on_hit < plan_.steps.size(), "continues beyond the end of the program");
    if (!cache_hit_) return;
    for (const PlanField field : fields_after_hit()) write(field);
    applied_ = step.operations;
    jump_ = step.on_hit;
  }
  void check(const CacheInsertStep&) {
    const auto* const lookup = find_step<CacheLookupStep>(plan_);
    expect(lookup != nullptr && applied_ == lookup->operations, "caches pixels of other operations than are looked up");
  }
  void check(const StoreStep& step) {
    stored_ = true;
    const StoreFormat& requested = plan_.spec.output;
    const bool for_device = requested.type == ElementType::kFloat32 && plan_.spec.batch_operations.empty();
    expect(step.format.type == requested.type || (step.format.type == ElementType::kUint8 && for_device),
           "stores another type than the batch has");
    expect(step.format.layout == requested.layout && step.format.normalisation == requested.normalisation,
           "stores another layout or normalisation than the batch has");
    expect(step.sizes == (plan_.padded() ? SampleSizes::kPadded : SampleSizes::kEqual),
           plan_.padded() ? "does not pad the samples of a padded batch" : "stores samples of several sizes");
    expect(!step.files || plan_.facts.encoded, "stores files of an image that is stored as pixels");
  }

  const Plan& plan_;
  const bool cache_hit_;
  std::array<bool, kFields> written_{};
  bool stored_ = false;
  std::size_t applied_ = 0;  // operations, the first ones
  std::optional<StepIndex> jump_;
  std::string problem_;
};

std::string count_violation(const Plan& plan, const ScheduleStage& stage) {
  const std::size_t operations = plan.spec.operations.size();
  if (stage.operations.size() != operations || stage.specs.size() != operations || stage.sizes.size() != operations + 1)
    return fmt::format("{} operations and {} sizes; expected {} and {}", stage.operations.size(), stage.sizes.size(),
                       operations, operations + 1);
  if (stage.batch_operations.size() != plan.spec.batch_operations.size())
    return fmt::format("{} batch operations; expected {}", stage.batch_operations.size(),
                       plan.spec.batch_operations.size());
  return {};
}

// Each size follows from the one before, and the last one fits the batch.
std::string size_violation(const Plan& plan, const ScheduleStage& stage) {
  Size expected = plan.facts.first.header.size;
  for (std::size_t i = 0; i < stage.sizes.size(); ++i) {
    const Size found = stage.sizes[i];
    if (found != expected)
      return fmt::format("sizes[{}] {}x{}; expected {}x{}", i, found.width, found.height, expected.width,
                         expected.height);
    if (i < stage.operations.size()) expected = stage.operations[i]->output_size(found);
  }
  if (expected.width <= 0 || expected.height <= 0)
    return fmt::format("samples of {}x{} pixels; expected at least 1x1", expected.width, expected.height);
  const Size batch = plan.size_at(stage.from_epoch);
  // Of pad.size, samples that are larger are bad samples.
  if (plan.spec.batch.pad.to != PadTo::kSize && (expected.width > batch.width || expected.height > batch.height))
    return fmt::format("samples of {}x{} pixels; expected at most {}x{}, the size of the batch", expected.width,
                       expected.height, batch.width, batch.height);
  return {};
}

std::string stage_violation(const Plan& plan) {
  if (plan.stages.empty() || plan.stages.front().from_epoch != 0) return "no stage begins at epoch 0";
  for (const ScheduleStage& stage : plan.stages) {
    std::string problem = count_violation(plan, stage);
    if (problem.empty()) problem = size_violation(plan, stage);
    if (!problem.empty()) return fmt::format("the stage from epoch {} has {}", stage.from_epoch, problem);
  }
  return {};
}

}  // namespace

std::string_view name_of(PlanField field) {
  switch (field) {
    case PlanField::kRecord: return "record";
    case PlanField::kLabel: return "label";
    case PlanField::kHeader: return "header";
    case PlanField::kRegion: return "region";
    case PlanField::kInnerRegion: return "inner region";
    case PlanField::kImage: break;
  }
  return "image";
}

FieldUse fields_of(const Step& step) { return std::visit(Uses{}, step); }

std::vector<PlanField> fields_after_hit() {
  return {PlanField::kRecord, PlanField::kLabel, PlanField::kHeader, PlanField::kImage};
}

std::string violation(const Plan& plan) {
  if (std::string problem = stage_violation(plan); !problem.empty()) return problem;
  if (std::string problem = Walk(plan, false).run(); !problem.empty()) return problem;
  if (find_step<CacheLookupStep>(plan) == nullptr) return {};
  std::string problem = Walk(plan, true).run();
  return problem.empty() ? problem : "after a cache hit, " + problem;
}

}  // namespace unstarve
