#pragma once
// Every node of a spec, once: key, member, description and range. Private to pipeline/spec.
//
// The YAML reader and writer (spec_yaml.cpp), the range checks (check_spec.cpp) and the JSON schema (spec_schema.cpp)
// are visitors of visit_spec(). A visitor has
//
//   node(key, value, info)              a value: number, text, enumeration, list of values, operations, ...
//   map(key, info, visit)               a mapping; calls visit(visitor of its nodes)
//   sources(key, list, info, visit)     a list of sources; calls visit(visitor, source) for each
//
// To add a node, add its member to spec.h and its line here.

#include <array>
#include <optional>
#include <utility>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct NodeInfo {
  const char* description;
  // Range of a number, or of each number in a list; default: all numbers of the type that are finite.
  std::optional<double> minimum{}, maximum{};
  std::optional<double> above{};  // exclusive minimum
  bool written = true;            // false: the writer omits the node
  const char* pattern = nullptr;  // regular expression of a text
};

// A node that is written only if `written`.
constexpr NodeInfo sparse(bool written, const char* description, std::optional<double> minimum = {},
                          std::optional<double> maximum = {}) {
  return {.description = description, .minimum = minimum, .maximum = maximum, .written = written};
}

// The names of the values of an enumeration.
constexpr auto names_of(ElementType) {
  using enum ElementType;
  return std::array{std::pair{"uint8", kUint8}, std::pair{"float32", kFloat32}, std::pair{"bfloat16", kBfloat16},
                    std::pair{"float16", kFloat16}};
}
constexpr auto names_of(Layout) {
  using enum Layout;
  return std::array{std::pair{"NCHW", kNchw}, std::pair{"NHWC", kNhwc}};
}
constexpr auto names_of(CacheWhat) {
  using enum CacheWhat;
  return std::array{std::pair{"nothing", kNothing}, std::pair{"encoded", kEncoded}, std::pair{"pixels", kPixels},
                    std::pair{"auto", kAuto}};
}
constexpr auto names_of(ExecutionOrder) {
  using enum ExecutionOrder;
  return std::array{std::pair{"exact", kExact}, std::pair{"relaxed", kRelaxed}};
}
constexpr auto names_of(LastBatch) {
  using enum LastBatch;
  return std::array{std::pair{"drop", kDrop}, std::pair{"keep", kKeep}, std::pair{"pad", kPad}};
}
constexpr auto names_of(PadTo) {
  using enum PadTo;
  return std::array{std::pair{"nothing", kNothing}, std::pair{"largest", kLargest}, std::pair{"size", kSize}};
}
constexpr auto names_of(OperationsOn) {
  using enum OperationsOn;
  return std::array{std::pair{"host", kHost}, std::pair{"device", kDevice}};
}
constexpr auto names_of(DecodeOn) {
  using enum DecodeOn;
  return std::array{std::pair{"host", kHost}, std::pair{"hybrid", kHybrid}, std::pair{"gpu_hybrid", kGpuHybrid},
                    std::pair{"hardware", kHardware}};
}
constexpr auto names_of(IndexLocation) {
  using enum IndexLocation;
  return std::array{std::pair{"cache", kCache}, std::pair{"next_to_data", kNextToData}};
}
constexpr auto names_of(OnError) {
  using enum OnError;
  return std::array{std::pair{"fail", kFail}, std::pair{"skip", kSkip}, std::pair{"replace", kReplace}};
}

inline constexpr double kMostMb = 1ULL << 40;
inline constexpr double kMostBucketWindow = 0xffffffff;
inline constexpr double kMostPadded = 65'535;  // side of a padded sample

template <class Visitor>
void visit_source(Visitor& v, auto& source, bool mixed) {
  v.node("path", source.path, {"file, folder, glob pattern or URL, in any format"});
  v.node("split", source.split, {"\"train\", \"test\", ... of a dataset with splits; empty: all samples"});
  v.node("labels", source.labels,
         sparse(!source.labels.empty(),
                "column, feature or member of the labels; empty: default of the format; none: all labels are -1"));
  v.node("index", source.index,
         sparse(source.index != IndexLocation::kCache,
                "where indexes of the data are stored: in the user's cache folder, or next to the data"));
  v.node("subset", source.subset,
         sparse(!source.subset.empty(),
                "numbers of the records that take part: \"0-99,105\", or \"bits:\" and base64; empty: all"));
  auto& part = source.part;
  v.map("part", sparse(part != PartSpec{}, "a random part of the records, of the subset if there is one"),
        [&](auto& p) {
          p.node("from", part.from, {"first position in the permuted records"});
          p.node("to", part.to, {"position after the last one; 0: the end"});
          p.node("seed", part.seed, {"seed of the permutation"});
        });
  auto& filter = source.filter;
  v.map("filter", sparse(filter != FilterSpec{}, "selects samples; a sample must meet every condition"), [&](auto& f) {
    f.node("labels", filter.labels, sparse(!filter.labels.empty(), "class names or numbers to include; empty: all"));
    f.node("drop_labels", filter.drop_labels, sparse(!filter.drop_labels.empty(), "class names or numbers to exclude"));
    f.node("min_side", filter.min_side,
           sparse(filter.min_side != 0, "minimum of the shorter side in pixels; 0: no limit", 0));
    f.node("max_side", filter.max_side,
           sparse(filter.max_side != 0, "maximum of the longer side in pixels; 0: no limit", 0));
    f.node("max_aspect", filter.max_aspect,
           sparse(filter.max_aspect != 0, "maximum of longer side / shorter side, 1 or more; 0: no limit", 0));
  });
  v.node("take", source.take,
         sparse(source.take.has_value(), "first N samples in storage order that pass the filter", 1));
  if (!mixed) return;
  v.node("weight", source.weight,
         sparse(source.weight.has_value(), "share of the samples; set it for all sources or for none", 0));
  v.node("earlier_weights", source.earlier_weights,
         sparse(!source.earlier_weights.empty(),
                "weights used earlier in the run, one per change; required to resume with more than 8 sources", 0));
}

template <class Visitor>
void visit_order(Visitor& v, auto& order) {
  v.node("shuffle", order.shuffle, {"shuffle every epoch by a keyed permutation; false: storage order"});
  v.node("seed", order.seed, {"seed of the order and of all random operations"});
  v.node("rank", order.rank, {"index of this process, below world", 0, 2147483646});
  v.node("world", order.world, {"number of processes that share an epoch", 1});
  v.node(
      "window", order.window,
      sparse(order.window > 0, "shuffle within windows of N samples, nearly in storage order; 0: shuffle all samples"));
  v.node("repeat", order.repeat, sparse(order.repeat != 1, "passes over the samples in one epoch", 1));
  v.node("epoch", order.epoch, sparse(order.epoch > 0, "samples in one pass; 0: all selected samples"));
  v.node("sample_weights", order.sample_weights,
         sparse(!order.sample_weights.empty(),
                "file with a weight per record, text or .npy; samples are drawn in proportion to it"));
  v.node("balance", order.balance, sparse(order.balance, "draw every class equally often, or by class_weights"));
  v.node("class_weights", order.class_weights,
         sparse(!order.class_weights.empty(), "weights of classes by name or number; default 1", 0));
}

template <class Visitor>
void visit_batch(Visitor& v, auto& batch) {
  v.node("size", batch.size, {"samples per batch of one process", 1});
  v.node("last", batch.last,
         {"a last, smaller batch of an epoch: drop it, keep it, or pad it by repeating its samples"});
  auto& pad = batch.pad;
  v.map("pad", sparse(pad != PadSpec{}, "pads samples of different sizes in one batch, at the right and at the bottom"),
        [&](auto& p) {
          p.node("to", pad.to,
                 {"nothing: all samples must have one size; largest: the largest sample of the batch; size: pad.size"});
          p.node("size", pad.size,
                 sparse(pad.size != Size{}, "[height, width] in pixels, with pad.to: size", 1, kMostPadded));
          p.node("value", pad.value, {"pixel value of the padding, before normalisation", 0, 255});
        });
  auto& bucket = batch.bucket;
  v.map("bucket", sparse(bucket != BucketSpec{}, "groups samples of similar sizes into one batch to reduce padding"),
        [&](auto& b) {
          b.node("window", bucket.window,
                 {"samples in epoch order that are grouped together; 0: no grouping", 0, kMostBucketWindow});
          b.node("run", bucket.run, {"samples per group; 0: one batch of all ranks"});
        });
}

template <class Visitor>
void visit_execution(Visitor& v, auto& execution) {
  v.node("threads", execution.threads, {"worker threads; 0: autotuned, or all usable cores without autotune", 0, 1024});
  v.node("prefetch", execution.prefetch, {"batches ready before they are needed", 0, 1024});
  v.node("read_ahead", execution.read_ahead,
         {"records read before they are needed, N at a time; 0: none, -1: auto", -1, 1024});
  v.node("pinned", execution.pinned, {"page-locked memory if the device supports it"});
  v.node("autotune", execution.autotune,
         {"adjust threads, prefetch and read_ahead at run time where they are not set"});
  v.node("cpu_limit", execution.cpu_limit, {"CPU cores that autotuned threads may use; 0: all usable cores", 0, 1024});
  v.node("order", execution.order,
         {"exact: the same batches in every run; relaxed: out-of-order delivery, ready samples bypass stragglers"});
  v.node("memory_limit_mb", execution.memory_limit_mb,
         {"memory limit of the pipeline in units of 10^6 bytes; 0: no limit", 0, kMostMb});
}

template <class Visitor>
void visit_device(Visitor& v, auto& device) {
  v.node("name", device.name,
         {.description = "cpu, cuda or cuda:N; empty: set by the caller", .pattern = "^(cpu|cuda(:[0-9]{1,9})?)?$"});
  v.node("operations", device.operations,
         {"device: run the operations after the first fixed-size one on the device; bit-equal to the host"});
  v.node("decode", device.decode,
         {"the nvJPEG back end that decodes on the device; requires operations: device; not bit-equal to the host"});
  v.node("decode_share", device.decode_share,
         sparse(device.decode_share.has_value(),
                "share of the files decoded on the device, fixed; absent: by measured rates", 0, 1));
}

// `spec`: a PipelineSpec, const or not.
template <class Visitor>
void visit_spec(Visitor& v, auto&& spec) {
  v.map("source", sparse(spec.mix.empty() || spec.source != SourceSpec{}, "the dataset"),
        [&](auto& s) { visit_source(s, spec.source, false); });
  v.sources("mix", spec.mix, sparse(!spec.mix.empty(), "several sources combined; replaces source"),
            [](auto& s, auto&& source) { visit_source(s, source, true); });
  v.map("order", {"order of the samples, and their distribution to processes"},
        [&](auto& o) { visit_order(o, spec.order); });
  v.map("decode", {"decoding of JPEG, PNG and WebP"}, [&](auto& d) {
    d.node("max_pixels", spec.decode.max_pixels,
           {"an image with more pixels is a bad sample; checked before memory is allocated", 1, double{kMaxPixels}});
  });
  v.map("cache", {"caches expensive results, up to the first random operation"}, [&](auto& c) {
    c.node("what", spec.cache.what,
           {"encoded: encoded records in memory; pixels: decoded and resized images; auto: the fastest choice"});
    c.node("folder", spec.cache.folder,
           {"folder for a file of pixels that all processes of the host share; empty: in memory"});
    c.node("limit_mb", spec.cache.limit_mb, {"maximum size in units of 10^6 bytes", 1, kMostMb});
    c.node("after", spec.cache.after,
           {"cache pixels after the first N operations; -1: after all before the first random one (auto: the fastest)",
            -1, 1024});
  });
  v.node("operations", spec.operations, {"operations on each sample, in this order"});
  v.map("output", {"element type, layout and normalisation of a batch"}, [&](auto& o) {
    o.node("type", spec.output.type, {"element type"});
    o.node("layout", spec.output.layout, {"NCHW: channels before height and width; NHWC: channels last"});
    o.node("mean", spec.output.normalisation.mean,
           {.description = "subtracted per channel from values in 0..1; floating types only", .maximum = 1});
    o.node("std", spec.output.normalisation.std,
           {.description = "divides values per channel after mean is subtracted; floating types only",
            .maximum = 1,
            .above = 0});
  });
  v.map("batch", {"size and padding of batches"}, [&](auto& b) { visit_batch(b, spec.batch); });
  v.node("batch_operations", spec.batch_operations,
         sparse(!spec.batch_operations.empty(),
                "operations on whole batches, in this order; labels become rows of probabilities"));
  v.map("execution", {"threads, prefetch and limits; with order: exact no setting changes the batches"},
        [&](auto& e) { visit_execution(e, spec.execution); });
  v.map("device",
        sparse(spec.device != DeviceSpec{},
               "the device that receives the batches, and the work that runs there; used by to_torch() only"),
        [&](auto& d) { visit_device(d, spec.device); });
  v.map("errors", {"handling of bad samples"}, [&](auto& e) {
    e.node("policy", spec.errors.policy,
           {"fail: stop the run; skip: leave the sample out and drop empty batches; replace: use the next good "
            "sample"});
    e.node("limit", spec.errors.limit, {"more bad samples than this fail the run"});
    e.node("rate", spec.errors.rate,
           {.description = "a larger share of bad samples than this fails the run, from sample 1000 on",
            .maximum = 1,
            .above = 0});
  });
  v.node("passes", spec.passes, sparse(!spec.passes.empty(), "switches optimisation passes on or off by name"));
}

}  // namespace unstarve
