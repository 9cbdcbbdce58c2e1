#pragma once
// The plan: the program of a pipeline. Built from a spec and facts about the data, then rewritten by passes.
//
//   spec ──build_plan()──▶ Plan ──pass──▶ Plan ... ──▶ executor (open_resources(), SampleProgram, Loader)
//
// The steps of a sample and of a batch are listed in step.h. A plan holds no dataset, threads, buffers, caches or
// budgets; threads and memory are resolved in execution.h. Sizes, bytes and text are functions of it.
//
// Threads: immutable after make_plan(); shared by all workers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "unstarve/pipeline/plan/facts.h"
#include "unstarve/pipeline/plan/step.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

class BatchOperation;
class Operation;

// The operations from an epoch on, until the next stage. A pipeline without schedules has one stage.
struct ScheduleStage {
  std::uint32_t from_epoch = 0;
  std::vector<OpSpec> specs;  // with the parameters of these epochs
  std::vector<std::shared_ptr<const Operation>> operations;
  std::vector<Size> sizes;  // of the first image, and after each operation
  std::vector<OpSpec> batch_specs;
  std::vector<std::shared_ptr<const BatchOperation>> batch_operations;
};

// The decision of one pass.
struct PassNote {
  std::string name;
  bool applied = false;
  bool exact = true;
  std::string reason;
  std::string_view error{};  // approximate passes: the bound of the error
  std::string program{};     // program_text() after the pass, if it applied
};

struct Plan {
  PipelineSpec spec;  // as requested
  DataFacts facts;
  std::vector<ScheduleStage> stages;  // ascending by epoch, the first from epoch 0
  std::vector<Step> steps;            // of each sample
  std::vector<BatchStep> batch_steps;
  std::vector<PassNote> passes{};

  [[nodiscard]] const ScheduleStage& stage(std::uint32_t epoch) const;
  [[nodiscard]] bool padded() const { return spec.batch.pad.to != PadTo::kNothing; }
  // Classes of the targets; 0: batches have no targets.
  [[nodiscard]] std::size_t target_classes() const { return spec.batch_operations.empty() ? 0 : facts.classes; }
  // The largest sample size of any epoch.
  [[nodiscard]] Size sample_size() const;
  // The sample size in an epoch; with padding, the largest.
  [[nodiscard]] Size size_at(std::uint32_t epoch) const;
  // The last step. Precondition: a valid program.
  [[nodiscard]] const StoreStep& store() const { return std::get<StoreStep>(steps.back()); }
  [[nodiscard]] StoreStep& store() { return std::get<StoreStep>(steps.back()); }
};

// The first step of type T, or null.
template <class T>
[[nodiscard]] const T* find_step(const Plan& plan) {
  for (const Step& step : plan.steps)
    if (const T* const found = std::get_if<T>(&step)) return found;
  return nullptr;
}
// The decode step, alone or within a DecodeResizeStep; null for stored pixels.
[[nodiscard]] const DecodeStep* decode_step(const Plan& plan);
[[nodiscard]] DecodeStep* decode_step(Plan& plan);
// What the program caches: pixels, encoded records or nothing.
[[nodiscard]] CacheWhat cached(const Plan& plan);
// Whether the first operation does nothing but resize what it selects, in every stage.
[[nodiscard]] bool only_resizes(const Plan& plan);
// Whether some step uses a scan index.
[[nodiscard]] bool uses_scan_index(const Plan& plan);

// Bytes of one batch slot: pixels, labels, ids, targets, sizes, files; with padding, one more sample.
[[nodiscard]] std::uint64_t batch_bytes(const Plan& plan);

// A field of a batch.
struct BatchField {
  std::string name;
  std::string type;                // of an element: "uint8"
  std::vector<std::size_t> shape;  // the batch size first; pixels in the order of the layout
};
// Those that consumers receive: image, label, id, and target if batch operations blend labels. With padding or
// schedules the shape of the image is that of the largest.
[[nodiscard]] std::vector<BatchField> batch_fields(const Plan& plan);

}  // namespace unstarve
