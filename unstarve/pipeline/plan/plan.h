#pragma once
// The plan: what will run, made from a spec and the data set it meets. Inspectable, without threads or buffers. The
// optimisations are in passes/, a file each.
//
// Making it validates the spec against the data: fields, operations, one output size for all samples. The optimisations
// it took or left are listed with their reasons.
//
// Threads: immutable; shared by all workers. Failure: make_plan() throws Error(kArgument) naming the offending node.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/plan/consumer.h"
#include "unstarve/pipeline/plan/memory_plan.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/cache/encoded_cache.h"
#include "unstarve/storage/cache/pixel_store.h"
#include "unstarve/storage/dataset/all_fields.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/scan_index_store.h"

namespace unstarve {

// One named optimisation: whether it is in the plan, whether it changes pixels, and why.
struct PassNote {
  std::string name;
  bool applied = false;
  bool exact = true;
  std::string reason;
  std::string_view error{};  // of those that change pixels: by how much at most
};

// The operations, of samples and of batches, from an epoch on, where some of their parameters follow a schedule
// (ops/schedule.h).
struct ChainStage {
  std::uint32_t from = 0;
  std::vector<OpSpec> specs;  // as they are in these epochs
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<Size> sizes;
  std::vector<OpSpec> batch_specs;
  std::vector<std::unique_ptr<BatchOperation>> batch_operations;
};

// The first image that can be read, of those that take part.
struct FirstImage {
  std::uint64_t id = 0;
  ImageHeader header;  // where it is encoded; else its size alone
};

struct Plan {
  PipelineSpec spec;  // with defaults filled in (threads), and the output that passes chose
  std::shared_ptr<const Dataset> dataset;
  std::vector<std::unique_ptr<Operation>> operations;  // of epoch 0 and those behind it, until `later`
  std::vector<std::unique_ptr<BatchOperation>> batch_operations;
  std::size_t classes = 0;                   // of the targets; 0: the batches have none
  std::shared_ptr<const SampleSet> samples;  // that take part
  Order order;
  Size sample_size;  // where batches are padded, or follow a schedule, what none is larger than
  int image_field = 0;
  int label_field = -1;           // -1: samples have no label, 0 is delivered
  bool encoded = false;           // the image field needs decoding
  bool crop_into_resize = false;  // the first operation resizes only to what the second one reads
  bool crop_into_decode = false;
  bool scale_into_decode = false;
  bool resize_into_decode = false;  // the first operation resizes the rows as they come
  // Where the spec asks for a cache, one of these. `dataset` is then the encoded cache itself; pixels are kept after
  // the first `cached_operations`.
  std::shared_ptr<const EncodedCache> encoded_cache;
  std::shared_ptr<const PixelStore> pixel_cache;
  std::size_t cached_operations = 0;
  std::shared_ptr<const AllFields> all_fields{};  // `dataset`, or what it caches, where dead_field_removal is off
  std::string cache_chosen{};                     // why the cache of the spec is what it is, where that said auto
  std::vector<PassNote> passes{};
  std::shared_ptr<ScanIndexStore> scan_index{};  // of the JPEGs, where crops are decoded by it
  bool fuse_operations = true;                   // operations edit one window; else each leaves an image of its own
  bool store_into_slot = true;  // the end of a chain writes to the batch; else to memory of its own, which is copied
  MemoryPlan memory{};
  std::shared_ptr<ByteBudget> room{};  // where memory is limited: for a cache, and for batches that the consumer keeps
  std::shared_ptr<MemoryPool> larger_images{};  // where memory is limited: for images beyond a worker's share
  bool tuned = false;                           // threads and prefetch of the spec are where the autotuner begins
  bool reads_tuned = false;                     // read_ahead is, be the threads given or not
  int most_read_ahead = 0;                      // that tuning may come to; read_ahead is where it begins
  bool padded = false;                          // samples of several sizes are filled up in their batch
  bool files = false;                           // some samples stay files, that a device decodes
  bool any_size = false;      // samples are made one by one (sample_worker.h), and need not be equally large
  std::vector<Size> sizes{};  // of the first image that can be read, and of what each operation in turn makes of it
  FirstImage first{};
  bool scans_indexed = false;       // indexes of scans are kept: in scan_index, where the plan's caches are opened
  std::vector<ChainStage> later{};  // the epochs from which on operations change by their schedules, ascending

  [[nodiscard]] const ChainStage* stage(std::uint32_t epoch) const;  // null: that of epoch 0
  [[nodiscard]] const std::vector<std::unique_ptr<Operation>>& operations_at(std::uint32_t epoch) const {
    const ChainStage* const found = stage(epoch);
    return found ? found->operations : operations;
  }
  [[nodiscard]] const std::vector<std::unique_ptr<BatchOperation>>& batch_operations_at(std::uint32_t epoch) const {
    const ChainStage* const found = stage(epoch);
    return found ? found->batch_operations : batch_operations;
  }
  // Of each sample of an epoch, as the workers make room for it.
  [[nodiscard]] Size size_at(std::uint32_t epoch) const;
};

// kDryRun: the plan is only read, and the cache it tells of is not made; a loader needs kOpened.
enum class Caches { kDryRun, kOpened };

// `usable_cores` is what execution.threads 0 becomes. `basis` without samples: they are chosen here (sample_set.h),
// which may read every record once. cache.what auto is decided here (passes/cache_trial.h), for a run of so many
// `epochs`, 0: many. `grow`: whether slots of batches may be added (Loader::Options); a memory limit then needs fewer.
// `on_device`: what the consumer keeps there, which a memory limit counts.
[[nodiscard]] Plan make_plan(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, int usable_cores,
                             Caches caches = Caches::kOpened, OrderBasis basis = {},
                             Consumer consumer = Consumer::kHost, std::uint32_t epochs = 0, bool grow = false,
                             OnDevice on_device = {});

// Bytes of one batch's slot: pixels, labels, ids, targets, sizes, which are files, and room for one more sample where
// batches are padded.
[[nodiscard]] std::uint64_t batch_bytes(const Plan& plan);

// Human-readable: operations in order, passes and decoding with reasons, sizes.
[[nodiscard]] std::string explain(const Plan& plan);

}  // namespace unstarve
