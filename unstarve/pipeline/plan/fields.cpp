#include "unstarve/pipeline/plan/fields.h"

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

}  // namespace unstarve
