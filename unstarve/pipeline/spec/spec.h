#pragma once
// The description of a pipeline as the user wrote it: plain data, the same in C++, YAML and Python.
//
// A pipeline has three separate forms: the spec (this file), the plan (plan/plan.h: the steps that will run) and the
// loader (executor/loader.h: threads and buffers). spec_yaml.h reads and writes specs as YAML.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/core/size.h"
#include "unstarve/ops/base/op_value.h"
#include "unstarve/ops/store/store_format.h"

namespace unstarve {

// Selects records by facts known before decoding. A record must meet every condition that is set. A record whose label
// or header cannot be read passes; the error policy applies when that record is loaded.
struct FilterSpec {
  std::vector<std::string> labels;       // class names or class numbers to include; empty: all
  std::vector<std::string> drop_labels;  // class names or class numbers to exclude
  int min_side = 0;                      // minimum of the shorter side in pixels; 0: no limit
  int max_side = 0;                      // maximum of the longer side in pixels; 0: no limit
  double max_aspect = 0;                 // maximum of longer side / shorter side, 1 or more; 0: no limit

  [[nodiscard]] bool by_label() const { return !labels.empty() || !drop_labels.empty(); }
  [[nodiscard]] bool by_header() const { return min_side != 0 || max_side != 0 || max_aspect != 0; }
  friend bool operator==(const FilterSpec&, const FilterSpec&) = default;
};

// The location of a value in the YAML text, for messages: "p.yaml.mix[1].path: line 7"; "" if the value does not come
// from YAML. Not part of the spec's value: all locations compare equal, and none is written.
struct YamlLocation {
  std::string text{};
  friend bool operator==(const YamlLocation&, const YamlLocation&) { return true; }
};

// The label of samples without labels (SourceSpec::labels "none").
inline constexpr std::int64_t kNoLabel = -1;

// Where indexes of the data are stored (storage/index/index_paths.h).
enum class IndexLocation {
  kCache,       // in the user's cache folder
  kNextToData,  // next to the data
};

// A random part of the records: those at positions `from` up to `to` of a permutation that `seed` determines. Parts of
// one seed that do not overlap have no record in common.
struct PartSpec {
  std::uint64_t from = 0;
  std::uint64_t to = 0;  // 0: the end
  std::uint64_t seed = 0;
  friend bool operator==(const PartSpec&, const PartSpec&) = default;
};

struct SourceSpec {
  std::string path;   // argument of open_dataset()
  std::string split;  // "train", "test" or ""
  // Column, feature or member of the labels; "": the default of the format; "none": batches have label kNoLabel.
  std::string labels{};
  IndexLocation index = IndexLocation::kCache;
  std::string subset{};  // records by number, before `part`, `filter` and `take` (order/record_list.h); "": all
  PartSpec part{};       // of the subset
  FilterSpec filter{};
  std::optional<std::uint64_t> take{};  // first N samples in storage order that pass the filter
  // In a mixture: this source's share of the samples, relative to the other weights. Set for all sources or for none.
  std::optional<double> weight{};
  // Weights used earlier in the run, one per change; the same count for all sources. Resuming a run with more than 8
  // sources requires them (order/mixture_state.h).
  std::vector<double> earlier_weights{};
  YamlLocation yaml_location{};  // of `path`
  friend bool operator==(const SourceSpec&, const SourceSpec&) = default;
};

struct OrderSpec {
  bool shuffle = true;
  std::uint64_t seed = 0;
  int rank = 0;  // index of this process, below `world`; all ranks get the same number of batches
  int world = 1;
  std::uint64_t window = 0;  // shuffle within windows of N samples, nearly in storage order (windowed()); 0: all
  std::uint64_t repeat = 1;  // passes over the samples in one epoch
  std::uint64_t epoch = 0;   // samples per pass; 0: all selected samples
  // File with a weight for each record (order/shares.h): samples are drawn in proportion to it. "": none.
  std::string sample_weights{};
  // Draws every class equally often, or by class_weights: class name or number to weight, default 1.
  bool balance = false;
  std::map<std::string, double> class_weights{};
  friend bool operator==(const OrderSpec&, const OrderSpec&) = default;
};

struct DecodeSpec {
  // An image with more pixels is a bad sample. The limit is checked against the header, before memory is allocated.
  int max_pixels = static_cast<int>(kMaxPixels);
  friend bool operator==(const DecodeSpec&, const DecodeSpec&) = default;
};

enum class LastBatch {
  kDrop,  // dropped
  kKeep,  // delivered short
  kPad,   // filled to full size by repeating its own samples; also applies to a batch shortened by bad samples
};

enum class PadTo {
  kNothing,  // no padding: all samples must have the same size
  kLargest,  // largest height and largest width in the batch
  kSize,     // PadSpec::size
};

// Pads samples of different sizes in one batch, at the right and at the bottom.
struct PadSpec {
  PadTo to = PadTo::kNothing;
  Size size{};    // only with kSize
  int value = 0;  // pixel value of the padding, before normalisation
  friend bool operator==(const PadSpec&, const PadSpec&) = default;
};

// Groups samples of similar sizes into one batch to reduce padding (order/buckets.h).
struct BucketSpec {
  std::uint64_t window = 0;  // samples in epoch order that are grouped together; 0: no grouping
  std::uint64_t run = 0;     // samples per group; 0: one batch of all ranks
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
  kExact,    // in-order delivery: batches are the same in every run
  kRelaxed,  // out-of-order delivery: ready samples bypass stragglers within a window
};

struct ExecutionSpec {
  int threads = 0;     // worker threads; 0: autotuned, or all usable cores without autotune
  int prefetch = 2;    // batches ready before they are needed (initial value if autotuned); 0: on request
  bool pinned = true;  // batch slots in page-locked memory if the device supports it
  // Records read before they are needed, N at a time; 0: none, -1: autotuned (none for data in memory or in the page
  // cache, dozens for a cold disk or a server).
  int read_ahead = -1;
  ExecutionOrder order = ExecutionOrder::kExact;
  // Memory limit of the pipeline in units of 10^6 bytes (plan/memory_plan.h); 0: no limit.
  std::uint64_t memory_limit_mb = 0;
  // Adjusts threads and prefetch at run time if `threads` is 0, and read_ahead if it is -1 (autotune/controller.h).
  // Does not change batches in exact order.
  bool autotune = true;
  int cpu_limit = 0;  // CPU cores that autotuned threads may use; 0: all usable cores
  // The worker threads to begin with, before a memory limit reduces them (plan/execution.h).
  [[nodiscard]] int initial_threads(int usable_cores) const {
    if (threads > 0) return threads;
    return autotune && cpu_limit > 0 && cpu_limit < usable_cores ? cpu_limit : usable_cores;
  }
  friend bool operator==(const ExecutionSpec&, const ExecutionSpec&) = default;
};

enum class OperationsOn { kHost, kDevice };

enum class DecodeOn {
  kHost,    // the CPU decodes all files
  kHybrid,  // the device decodes a part, with this nvJPEG back end (codecs/nvjpeg/nvjpeg_decoder.h)
  kGpuHybrid,
  kHardware,
};

// The device that receives the batches, and the work that runs there. Only to_torch() of the Python package uses it. A
// C++ loader ignores it and delivers complete batches on the host. Pixels decoded on a device differ slightly; all
// other results are bit-equal.
struct DeviceSpec {
  std::string name;                               // argument of open_device(); "": set by the caller of to_torch()
  OperationsOn operations = OperationsOn::kHost;  // kDevice: all supported ones (device/device_operations.h)
  DecodeOn decode = DecodeOn::kHost;              // others than kHost require operations on the device
  std::optional<double> decode_share{};           // share of the files decoded there; unset: by measured rates
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

enum class CacheWhat {
  kNothing,
  kEncoded,  // encoded records, in memory
  kPixels,   // decoded pixels after deterministic operations, in memory or in a file
  kAuto,     // the fastest of these (or no cache), by measurements of some samples (executor/cache_trial.h)
};

struct CacheSpec {
  CacheWhat what = CacheWhat::kNothing;
  // Folder for a file of pixels that all processes of the host share; "": in memory. With kAuto a file in this folder
  // is one of the candidates.
  std::string folder;
  std::uint64_t limit_mb = 1024;  // maximum size in units of 10^6 bytes
  // Pixels are cached after the first N operations; -1: after all before the first random one (kAuto: the fastest).
  int after = -1;
  friend bool operator==(const CacheSpec&, const CacheSpec&) = default;
};

enum class OnError {
  kFail,     // deliver the good batches before the bad sample, then throw
  kSkip,     // leave bad samples out; drop a batch without good samples (executor/error_policy.h)
  kReplace,  // use the next good sample by id instead (deterministic)
};

// ErrorSpec::rate applies after this many samples, when the rate is statistically meaningful.
inline constexpr std::uint64_t kRateProbation = 1000;

struct ErrorSpec {
  OnError policy = OnError::kFail;
  std::uint64_t limit = 1000;  // more bad samples than this fail the run under any policy
  // A larger share of bad samples than this fails the run, from sample kRateProbation on; 1: no limit.
  double rate = 1;
  friend bool operator==(const ErrorSpec&, const ErrorSpec&) = default;
};

struct PipelineSpec {
  SourceSpec source;
  std::vector<SourceSpec> mix;  // several sources combined; `source` is then empty
  // Whether the spec requests no labels.
  [[nodiscard]] bool declines_labels() const { return (mix.empty() ? source : mix[0]).labels == "none"; }
  OrderSpec order;
  DecodeSpec decode;
  CacheSpec cache;
  std::vector<OpSpec> operations;
  StoreFormat output;
  BatchSpec batch;
  std::vector<OpSpec> batch_operations;  // ops/batch/batch_operation.h; with any, labels become target rows
  ExecutionSpec execution;
  DeviceSpec device;
  ErrorSpec errors;
  // Optimisation passes by name (pass_switches.h); false switches a pass off.
  std::map<std::string, bool> passes;
  friend bool operator==(const PipelineSpec&, const PipelineSpec&) = default;
};

// The random changes of training images.
enum class Augmentation {
  kStandard,     // flip half of the images; thumbnails: pad crop (padding 4)
  kAlternating,  // alternating flip; thumbnails: pad crop (padding 2, reflected border)
};

// Default operations for `size` x `size` pixels. `largest`: the largest sides of the stored images.
//   training    random resized crop and flip; images of up to 40 px and `size` (thumbnails): pad crop and flip
//   evaluation  resize to 8/7 of `size` and centre crop; up to 40 px: resize to `size` and centre crop
[[nodiscard]] std::vector<OpSpec> training_operations(int size, Size largest,
                                                      Augmentation augmentation = Augmentation::kStandard);
[[nodiscard]] std::vector<OpSpec> evaluation_operations(int size);

}  // namespace unstarve
