#include "unstarve/pipeline/plan/verify.h"
#include "unstarve/pipeline/plan/plan.h"

#include <fmt/format.h>

#include <optional>

namespace unstarve {
namespace {

// Walks one path through the program and keeps track of what is known of the sample.
class Walk {
 public:
  explicit Walk(const Plan& plan, bool cache_hit) : plan_(plan), cache_hit_(cache_hit) {}

  std::string run() {
    for (StepIndex at = 0; at < plan_.steps.size();) {
      jump_.reset();
      std::visit([&](const auto& step) { visit(step); }, plan_.steps[at]);
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
  void expect(bool condition, const char* what) {
    if (!condition && problem_.empty()) problem_ = what;
  }

  void visit(const ReadStep&) {
    expect(!read_, "reads the record a second time");
    read_ = true;
  }
  void visit(const UsePixelsStep&) {
    expect(read_, "uses pixels before the record is read");
    expect(!plan_.facts.encoded, "uses pixels of an encoded image");
    expect(!pixels_, "produces pixels a second time");
    pixels_ = true;
  }
  void visit(const OpenStep&) {
    expect(read_, "opens the image before the record is read");
    expect(plan_.facts.encoded, "opens an image that is stored as pixels");
    expect(!opened_, "opens the image a second time");
    opened_ = true;
  }
  void visit(const SelectStep& step) {
    expect(opened_, "selects a region before the size of the image is known");
    expect(!pixels_, "selects a region after the image is decoded");
    expect(step.op == 0 && operations() > 0, "selects another operation than the first");
    expect(!selected_, "selects an operation a second time");
    selected_ = true;
  }
  void visit(const SelectThroughStep& step) {
    expect(opened_ && !pixels_, "selects through a resize after the image is decoded");
    expect(step.resize == 0 && selected_, "selects through a resize that is not selected");
    expect(step.op == 1, "selects through an operation that does not come directly before");
    expect(step.op < operations(), "selects an operation that does not exist");
    selected_through_ = true;
  }
  void visit(const DecodeStep& step) {
    expect(opened_, "decodes an image that is not opened");
    expect(!pixels_, "decodes a second time");
    expect(step.region == DecodeRegion::kWhole || selected_, "decodes a selected region before it is selected");
    expect(step.reduction == Reduction::kNever || selected_, "decodes at a reduced scale without a target size");
    expect(step.index == ScanIndexUse::kNone || step.region == DecodeRegion::kSelected,
           "uses a scan index for a whole image");
    pixels_ = true;
  }
  void visit(const DecodeResizeStep& step) {
    visit(step.decode);
    visit(ApplyStep{step.op, OpRegion::kSelected});
  }
  void visit(const ApplyStep& step) {
    expect(pixels_, "applies an operation before there are pixels");
    expect(step.op == applied_ && step.op < operations(), "applies an operation out of order");
    const OpRegion drawn = step.op == 0 && selected_           ? OpRegion::kSelected
                           : step.op == 1 && selected_through_ ? OpRegion::kSelectedThrough
                                                               : OpRegion::kDrawn;
    expect(step.region == drawn, "applies an operation to another region than was drawn for it");
    ++applied_;
  }
  void visit(const MaterialiseStep&) { expect(pixels_, "materialises before there are pixels"); }
  void visit(const CacheLookupStep& step) {
    expect(!read_, "looks up the cache after the record is read");
    expect(step.on_hit < plan_.steps.size(), "continues beyond the end of the program");
    if (!cache_hit_) return;
    read_ = opened_ = pixels_ = true;
    applied_ = step.operations;
    jump_ = step.on_hit;
  }
  void visit(const CacheInsertStep&) {
    expect(pixels_, "caches pixels before there are any");
    const auto* const lookup = find_step<CacheLookupStep>(plan_);
    expect(lookup != nullptr && applied_ == lookup->operations, "caches pixels of other operations than are looked up");
  }
  void visit(const StoreStep&) {
    expect(pixels_, "stores a sample before there are pixels");
    stored_ = true;
  }

  const Plan& plan_;
  const bool cache_hit_;
  bool read_ = false, opened_ = false, selected_ = false, selected_through_ = false, pixels_ = false, stored_ = false;
  std::size_t applied_ = 0;  // operations, the first ones
  std::optional<StepIndex> jump_;
  std::string problem_;
};

std::string stage_violation(const Plan& plan) {
  if (plan.stages.empty() || plan.stages.front().from_epoch != 0) return "no stage begins at epoch 0";
  for (const ScheduleStage& stage : plan.stages) {
    const std::size_t operations = plan.spec.operations.size();
    if (stage.operations.size() != operations || stage.specs.size() != operations ||
        stage.sizes.size() != operations + 1)
      return fmt::format("the stage from epoch {} has {} operations and {} sizes, expected {} and {}", stage.from_epoch,
                         stage.operations.size(), stage.sizes.size(), operations, operations + 1);
    if (stage.batch_operations.size() != plan.spec.batch_operations.size())
      return fmt::format("the stage from epoch {} has {} batch operations, expected {}", stage.from_epoch,
                         stage.batch_operations.size(), plan.spec.batch_operations.size());
  }
  return {};
}

}  // namespace

std::string violation(const Plan& plan) {
  if (std::string problem = stage_violation(plan); !problem.empty()) return problem;
  if (std::string problem = Walk(plan, false).run(); !problem.empty()) return problem;
  if (find_step<CacheLookupStep>(plan) == nullptr) return {};
  std::string problem = Walk(plan, true).run();
  return problem.empty() ? problem : "after a cache hit, " + problem;
}

}  // namespace unstarve
