#include "unstarve/pipeline/spec/spec_fields.h"

#include <algorithm>
#include <array>

#include "unstarve/codecs/decoder.h"

namespace unstarve {
namespace {

constexpr std::array kFields = {
    SpecField{"source", "the dataset"},
    SpecField{"source.path", "file, folder, glob pattern or URL, in any format"},
    SpecField{"source.split", "\"train\", \"test\", ... of a dataset with splits; empty: all samples"},
    SpecField{"source.filter", "selects samples; a sample must meet every condition"},
    SpecField{"source.filter.labels", "class names or numbers to include; empty: all"},
    SpecField{"source.filter.drop_labels", "class names or numbers to exclude"},
    SpecField{"source.filter.min_side", "minimum of the shorter side in pixels; 0: no limit", 0},
    SpecField{"source.filter.max_side", "maximum of the longer side in pixels; 0: no limit", 0},
    SpecField{"source.filter.max_aspect", "maximum of longer side / shorter side, 1 or more; 0: no limit", 0},
    SpecField{"source.take", "first N samples in storage order that pass the filter", 1},
    SpecField{"mix", "several sources combined; replaces source"},
    SpecField{"order", "order of the samples, and their distribution to processes"},
    SpecField{"order.shuffle", "shuffle every epoch by a keyed permutation; false: storage order"},
    SpecField{"order.seed", "seed of the order and of all random operations"},
    SpecField{"order.rank", "index of this process, below world", 0, 2147483646},
    SpecField{"order.world", "number of processes that share an epoch", 1},
    SpecField{"order.window", "shuffle within windows of N samples, nearly in storage order; 0: shuffle all samples"},
    SpecField{"order.repeat", "passes over the samples in one epoch", 1},
    SpecField{"order.epoch", "samples in one pass; 0: all selected samples"},
    SpecField{"order.balance", "draw every class equally often, or by class_weights"},
    SpecField{"order.class_weights", "weights of classes by name or number; default 1"},
    SpecField{"decode", "decoding of JPEG, PNG and WebP"},
    SpecField{"decode.max_pixels", "an image with more pixels is a bad sample; checked before memory is allocated", 1,
              static_cast<double>(kMaxPixels)},
    SpecField{"cache", "caches expensive results, up to the first random operation"},
    SpecField{"cache.what",
              "encoded: encoded records in memory; pixels: decoded and resized images; auto: the fastest choice"},
    SpecField{"cache.folder", "folder for a file of pixels that all processes of the host share; empty: in memory"},
    SpecField{"cache.limit_mb", "maximum size in units of 10^6 bytes", 1, static_cast<double>(1ULL << 40)},
    SpecField{
        "cache.after",
        "cache pixels after the first N operations; -1: after all before the first random one (auto: the fastest)", -1,
        1024},
    SpecField{"operations", "operations on each sample, in this order"},
    SpecField{"output", "element type, layout and normalisation of a batch"},
    SpecField{"output.type", "element type"},
    SpecField{"output.layout", "NCHW: channels before height and width; NHWC: channels last"},
    SpecField{"output.mean", "subtracted per channel from values in 0..1; floating types only"},
    SpecField{"output.std", "divides values per channel after mean is subtracted; floating types only", {}, {}, 0},
    SpecField{"batch", "size and padding of batches"},
    SpecField{"batch.size", "samples per batch of one process", 1},
    SpecField{"batch.last", "a last, smaller batch of an epoch: drop it, keep it, or pad it by repeating its samples"},
    SpecField{"batch.pad", "pads samples of different sizes in one batch, at the right and at the bottom"},
    SpecField{"batch.pad.to",
              "nothing: all samples must have one size; largest: the largest sample of the batch; size: pad.size"},
    SpecField{"batch.pad.size", "[height, width] in pixels, with pad.to: size", 1, 65535, {}, true},
    SpecField{"batch.pad.value", "pixel value of the padding, before normalisation", 0, 255},
    SpecField{"batch.bucket", "groups samples of similar sizes into one batch to reduce padding"},
    SpecField{"batch.bucket.window", "samples in epoch order that are grouped together; 0: no grouping", 0,
              4294967295.0},
    SpecField{"batch.bucket.run", "samples per group; 0: one batch of all ranks"},
    SpecField{"batch_operations", "operations on whole batches, in this order; labels become rows of probabilities"},
    SpecField{"execution", "threads, prefetch and limits; with order: exact no setting changes the batches"},
    SpecField{"execution.threads", "loader threads; 0: autotuned, or all usable cores without autotune", 0, 1024},
    SpecField{"execution.prefetch", "batches ready before they are needed", 0, 1024},
    SpecField{"execution.read_ahead", "records read before they are needed, N at a time; 0: none, -1: auto", -1, 1024},
    SpecField{"execution.autotune", "adjust threads, prefetch and read_ahead at run time where they are not set"},
    SpecField{"execution.cpu_limit", "CPU cores that autotuned threads may use; 0: all usable cores", 0, 1024},
    SpecField{"execution.pinned", "page-locked memory if the device supports it"},
    SpecField{"execution.order",
              "exact: the same batches in every run; relaxed: out-of-order delivery, ready samples bypass stragglers"},
    SpecField{"execution.memory_limit_mb", "memory limit of the pipeline in units of 10^6 bytes; 0: no limit", 0,
              static_cast<double>(1ULL << 40)},
    SpecField{"device", "the device that receives the batches, and the work that runs there; used by to_torch() only"},
    SpecField{"device.name",
              "cpu, cuda or cuda:N; empty: set by the caller",
              {},
              {},
              {},
              false,
              "^(cpu|cuda(:[0-9]{1,9})?)?$"},
    SpecField{"device.operations",
              "device: run the operations after the first fixed-size one on the device; bit-equal to the host"},
    SpecField{"device.decode",
              "the nvJPEG back end that decodes on the device; requires operations: device; not bit-equal to the host"},
    SpecField{"device.decode_share", "share of the files decoded on the device, fixed; absent: by measured rates", 0,
              1},
    SpecField{"errors", "handling of bad samples"},
    SpecField{
        "errors.policy",
        "fail: stop the run; skip: leave the sample out and drop empty batches; replace: use the next good sample"},
    SpecField{"errors.limit", "more bad samples than this fail the run"},
    SpecField{"errors.rate", "a larger share of bad samples than this fails the run, from sample 1000 on", {}, 1, 0},
    SpecField{"passes", "switches optimisation passes on or off by name"},
};

}  // namespace

std::span<const SpecField> spec_fields() { return kFields; }

const SpecField* find_spec_field(std::string_view path) {
  const auto* const found =
      std::find_if(kFields.begin(), kFields.end(), [&](const SpecField& f) { return f.path == path; });
  return found == kFields.end() ? nullptr : found;
}

}  // namespace unstarve
