#pragma once
// What the user asked of a pipeline: plain data, equal in C++, YAML and Python. Nothing here runs.
//
// The three forms never mix: the spec (this), the plan (plan.h: what will run) and the loader (loader.h: threads and
// buffers). YAML is read and written by spec_yaml.h; unknown keys are errors there.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/image.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {

// Which records take part, by what is known before decoding: a record must pass every bound that is set. One whose
// label or header cannot be read passes, so that the error policy decides when its turn comes.
struct FilterSpec {
  std::vector<std::string> labels;       // class names, or numbers of classes, that are kept; empty: all
  std::vector<std::string> drop_labels;  // and those that are left out
  int min_side = 0;                      // the shorter side has so many pixels at least; 0: any
  int max_side = 0;                      // the longer side at most; 0: any
  double max_aspect = 0;                 // longer side / shorter side at most, 1 or more; 0: any

  [[nodiscard]] bool by_label() const { return !labels.empty() || !drop_labels.empty(); }
  [[nodiscard]] bool by_header() const { return min_side != 0 || max_side != 0 || max_aspect != 0; }
  friend bool operator==(const FilterSpec&, const FilterSpec&) = default;
};

// Where a value was written, for messages: "p.yaml.mix[1].path: line 7"; "" where it was not. Nothing that was asked:
// all are equal, and none is written.
struct WrittenAt {
  std::string text{};
  friend bool operator==(const WrittenAt&, const WrittenAt&) { return true; }
};

struct SourceSpec {
  std::string path;   // what storage's open_dataset() takes
  std::string split;  // "train", "test" or ""
  FilterSpec filter{};
  std::optional<std::uint64_t> take{};  // the first so many, as stored, that pass the filter
  // In a mixture: this source's share of the samples, relative to the others'; given for all of its sources or for
  // none.
  std::optional<double> weight{};
  // Its weights earlier in the run, one of each time that they were changed; as many for all sources. A state of many
  // sources needs them (order/mixture_state.h).
  std::vector<double> earlier_weights{};
  WrittenAt place{};  // `path`
  friend bool operator==(const SourceSpec&, const SourceSpec&) = default;
};

struct OrderSpec {
  bool shuffle = true;
  std::uint64_t seed = 0;
  int rank = 0;  // this process among `world`; every rank gets equally many batches
  int world = 1;
  std::uint64_t window = 0;  // shuffle within windows of N samples, nearly in storage order (windowed()); 0: all
  std::uint64_t repeat = 1;  // passes over the samples in one epoch
  std::uint64_t epoch = 0;   // samples of one such pass, where it is not all that take part; 0: all
  // Every class equally often, or by these weights: by class name or number, 1 for classes that are not named.
  bool balance = false;
  std::map<std::string, double> class_weights{};
  friend bool operator==(const OrderSpec&, const OrderSpec&) = default;
};

struct DecodeSpec {
  // An image of more is an error of its sample; a header of a few bytes may claim any size.
  int max_pixels = static_cast<int>(kMaxPixels);
  friend bool operator==(const DecodeSpec&, const DecodeSpec&) = default;
};

enum class LastBatch {
  kDrop,  // left out
  kKeep,  // shorter
  kPad,   // as long as the others, its own samples repeated; so is one that bad samples made shorter
};

enum class PadTo {
  kNothing,  // every sample must have the same size
  kLargest,  // of its batch, in height and in width
  kSize,     // PadSpec::size
};

// Samples of varying sizes in one batch: filled up to the right and below.
struct PadSpec {
  PadTo to = PadTo::kNothing;
  Size size{};    // of kSize alone
  int value = 0;  // of the padding, as a pixel before normalisation
  friend bool operator==(const PadSpec&, const PadSpec&) = default;
};

// Samples of similar sizes in one batch, so that little is padded (order/buckets.h).
struct BucketSpec {
  std::uint64_t window = 0;  // so many samples of an epoch's order are grouped among themselves; 0: none are
  std::uint64_t run = 0;     // samples of a group; 0: a batch of all ranks
  friend bool operator==(const BucketSpec&, const BucketSpec&) = default;
};

struct BatchSpec {
  int size = 256;
  LastBatch last = LastBatch::kDrop;
  PadSpec pad{};
  BucketSpec bucket{};
  friend bool operator==(const BatchSpec&, const BatchSpec&) = default;
};

enum class ExecutionOrder {
  kExact,    // every batch is the same in every run
  kRelaxed,  // samples that are ready overtake others within a window; the same ones in every epoch, in any batch
};

struct ExecutionSpec {
  int threads = 0;     // loader threads; 0: tuned while running, or without autotune as many as usable cores
  int prefetch = 2;    // batches made ahead of the consumer, to begin with where tuned; 0: made when asked for
  bool pinned = true;  // slots in page-locked memory, on devices that have it
  // Records read before the workers ask for them, so many at once; 0: none, -1: as the data reward it (none from memory
  // or the page cache, dozens from a cold disk or a server).
  int read_ahead = -1;
  ExecutionOrder order = ExecutionOrder::kExact;
  // What the pipeline may hold at most, in units of 10^6 bytes (memory_budget.h); 0: no limit.
  std::uint64_t memory_limit_mb = 0;
  // Where threads are left open (0) they and batches ahead follow what is measured while it runs, and in any case an
  // open read_ahead does (autotune/controller.h). Never changes a bit of a batch.
  bool autotune = true;
  int cpu_limit = 0;  // cores that tuned threads may keep busy; 0: all usable ones
  friend bool operator==(const ExecutionSpec&, const ExecutionSpec&) = default;
};

enum class OperationsOn { kHost, kDevice };

enum class DecodeOn {
  kHost,       // the processor decodes all files
  kHybrid,     // a device decodes some, by this back end of nvJPEG
  kGpuHybrid,  // and so on: codecs/nvjpeg/nvjpeg_decoder.h
  kHardware,
};

// The device that the batches are for, and what of the work is done there. Whoever brings them there does as it says:
// to_torch() of the Python package. A loader's own batches are whole and on the host whatever stands here, with the
// same bits but for what a device decodes.
struct DeviceSpec {
  std::string name;                               // as open_device() takes it; "": whoever runs the pipeline says where
  OperationsOn operations = OperationsOn::kHost;  // kDevice: those that can be there (device_operations.h)
  DecodeOn decode = DecodeOn::kHost;              // with the operations on the device alone
  std::optional<double> decode_share{};           // of the files that the device can decode; none: by measured rates
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

enum class CacheWhat {
  kNothing,
  kEncoded,  // records as stored, in memory
  kPixels,   // decoded, after operations that are not random; in memory or in a file
  kAuto,     // the one of these that pays, none included, by what some samples cost (passes/cache_trial.h)
};

struct CacheSpec {
  CacheWhat what = CacheWhat::kNothing;
  // A folder for the file of pixels, shared by all processes of the host that name it; "": memory. Where left open
  // (auto), the file is one of the choices.
  std::string folder;
  std::uint64_t limit_mb = 1024;  // in units of 10^6 bytes; more is not kept
  // Pixels are kept after so many operations; -1: after all before the first random one, with auto where it pays most.
  int after = -1;
  friend bool operator==(const CacheSpec&, const CacheSpec&) = default;
};

enum class OnError {
  kFail,     // deliver the good batches before it, then throw
  kSkip,     // the batch is shorter by the bad samples, and left out where nothing remains (executor/loader.h)
  kReplace,  // the next good sample by id takes its place (deterministic)
};

// Samples that have to be read before a rate means something: one bad sample among the first ten is not yet 10 %.
inline constexpr std::uint64_t kRateProbation = 1000;

struct ErrorSpec {
  OnError policy = OnError::kFail;
  std::uint64_t limit = 1000;  // more bad samples than this in one run fail it under any policy
  // So does a greater part than this of all samples read, from the kRateProbation-th on; 1: any part is taken.
  double rate = 1;
  friend bool operator==(const ErrorSpec&, const ErrorSpec&) = default;
};

struct PipelineSpec {
  SourceSpec source;
  std::vector<SourceSpec> mix;  // several sources as one; `source` is empty then
  OrderSpec order;
  DecodeSpec decode;
  CacheSpec cache;
  std::vector<OpSpec> operations;
  StoreFormat output;
  BatchSpec batch;
  std::vector<OpSpec> batch_operations;  // ops/batch/batch_operation.h; any makes targets of the labels
  ExecutionSpec execution;
  DeviceSpec device;
  ErrorSpec errors;
  // Passes (passes/pass.h) by name; false switches one off.
  std::map<std::string, bool> passes;
  friend bool operator==(const PipelineSpec&, const PipelineSpec&) = default;
};

// The usual chains: training is random resized crop and flip from photographs, pad crop 4 and flip from images not
// larger than 40 px; evaluation is resize (8/7 of `size`) and centre crop, or nothing for small ones.
[[nodiscard]] std::vector<OpSpec> training_operations(int size);
[[nodiscard]] std::vector<OpSpec> evaluation_operations(int size);

}  // namespace unstarve
