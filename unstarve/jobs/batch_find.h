#pragma once
// `unstarve batch-find`: the batch size from which on larger ones hardly train faster, from measurements at many sizes.
//
// Sizes are doubled until the memory, the time or the largest size ends it; then sizes around the knee are measured
// (finders/batch_search.h). A size that is not a multiple of 8 is compared with the knee, and the network's heaviest
// layer with one whose channels are not multiples of 8.
//
// Time:    `seconds` per size, longer if steps are slow, but at most `longest_s`.
// Threads: one caller. Failure: as Rig; Error(kMemory) if the first size does not fit; Error(kArgument) unless
//          1 <= from <= to.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/finders/batch_search.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/jobs/training/configuration_faults.h"

namespace unstarve {

struct Report;

// The default of `longest_s`, in multiples of `seconds`.
inline constexpr double kSlowest = 10;

struct BatchFindOptions {
  Settings settings;  // their batch and learning rate belong together; the learning rate is scaled from there
  ConfigurationFaults faults{};  // that are already known; run_batch_find() reports them with those that it finds
  Target target;                 // not emulated
  int from = 2;                  // with 1, batch norm of layers of one pixel is an error
  int to = 0;                    // 0: the number of samples in the data
  double seconds = 4;            // per size
  double longest_s = 0;          // a size that takes longer is not measured; 0: kSlowest * seconds
  std::size_t memory_bytes = 0;  // that the process may use; 0: what the machine has available
};

// The cost of a batch that is not a multiple of 8.
struct BatchCheck {
  int batch = 0;  // 0: not measured
  int multiple = 0;
  RatioInterval ratio;  // of the trainer's rate with `batch` to that with `multiple`
  std::string reason;   // why not measured
};

// The cost of channels that are not multiples of 8, in one layer.
struct ChannelCheck {
  std::optional<LayerShape> layer;  // with multiples; none: not measured
  LayerShape unaligned;             // the same layer with other channels
  RatioInterval ratio;              // of the multiply-adds per second of `unaligned` to those of `layer`
  std::string reason;               // why not measured
};

struct BatchFindResult {
  std::string data;
  Settings settings;  // as given
  Target target;
  BatchSearchResult search;
  std::size_t knee = 0, best = 0;  // indices of points
  BatchCheck batch_check;
  ChannelCheck channel_check;
  std::vector<LayerShape> unaligned_layers;  // of the network
  ScalingRule rule = ScalingRule::kLinear;
  double learning_rate = 0;  // for the knee
  double seconds = 0;        // that the measurements took
  [[nodiscard]] const BatchPoint& knee_point() const { return search.points[knee]; }
  [[nodiscard]] const BatchPoint& best_point() const { return search.points[best]; }
  [[nodiscard]] const BatchPoint& largest_point() const { return search.points.back(); }
};

[[nodiscard]] BatchFindResult run_batch_find(const BatchFindOptions& options, const Progress& progress = {});

// The flags of `unstarve train` for the knee: "--batch 64 --learning-rate 0.025".
[[nodiscard]] std::string flags_of(const BatchFindResult& result);

[[nodiscard]] std::string to_text(const BatchFindResult& result);
// See "batch-find" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const BatchFindResult& result);
[[nodiscard]] Report report_of(const BatchFindResult& result, const std::string& command);

}  // namespace unstarve
