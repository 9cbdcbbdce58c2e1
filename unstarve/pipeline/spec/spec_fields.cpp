#include "unstarve/pipeline/spec/spec_fields.h"

#include <algorithm>
#include <array>

#include "unstarve/codecs/decoder.h"

namespace unstarve {
namespace {

constexpr std::array kFields = {
    SpecField{"source", "the data set"},
    SpecField{"source.path", "folder, file, glob or URL; whatever the format"},
    SpecField{"source.split", "\"train\", \"test\", ... of data that have splits; empty: everything"},
    SpecField{"source.filter", "which samples take part; those that pass every bound"},
    SpecField{"source.filter.labels", "class names or numbers that are kept; empty: all"},
    SpecField{"source.filter.drop_labels", "class names or numbers that are left out"},
    SpecField{"source.filter.min_side", "pixels of the shorter side at least; 0: any", 0},
    SpecField{"source.filter.max_side", "pixels of the longer side at most; 0: any", 0},
    SpecField{"source.filter.max_aspect", "longer side / shorter side at most, 1 or more; 0: any", 0},
    SpecField{"source.take", "the first so many, as stored, that pass the filter", 1},
    SpecField{"mix", "several sources as one, in the place of source"},
    SpecField{"order", "which sample comes when, and to which process"},
    SpecField{"order.shuffle", "another order every epoch, by a keyed permutation; false: as stored"},
    SpecField{"order.seed", "of the order and of everything random"},
    SpecField{"order.rank", "this process among `world`: below it", 0, 2147483646},
    SpecField{"order.world", "processes that share an epoch", 1},
    SpecField{"order.window", "shuffle in windows of so many samples, near as they are stored; 0: all"},
    SpecField{"order.repeat", "passes over the samples in one epoch", 1},
    SpecField{"order.epoch", "samples of one pass; 0: as many as take part"},
    SpecField{"order.balance", "every class equally often, or by its weight"},
    SpecField{"order.class_weights", "of classes by name or number; 1 for those not named"},
    SpecField{"decode", "JPEG, PNG and WebP to pixels"},
    SpecField{"decode.max_pixels",
              "an image whose header claims more is an error of its sample, before memory is taken", 1,
              static_cast<double>(kMaxPixels)},
    SpecField{"cache", "keeps what is dear to make again, before the first random operation"},
    SpecField{"cache.what", "encoded: records as stored, in memory; pixels: decoded and resized; auto: what pays"},
    SpecField{"cache.folder", "for a file of pixels that all processes of the host share; empty: in memory"},
    SpecField{"cache.limit_mb", "in units of 10^6 bytes; more is not kept", 1, static_cast<double>(1ULL << 40)},
    SpecField{"cache.after", "operations whose pixels are kept; -1: all before the first random one, or what pays", -1,
              1024},
    SpecField{"operations", "on each sample, in this order"},
    SpecField{"output", "the batch in memory"},
    SpecField{"output.type", "of an element"},
    SpecField{"output.layout", "of a batch: channels before height and width, or behind them"},
    SpecField{"output.mean", "per channel over 0..1, subtracted; of floating types"},
    SpecField{"output.std", "per channel over 0..1, divided by; of floating types", {}, {}, 0},
    SpecField{"batch", "samples that are given together"},
    SpecField{"batch.size", "samples of one process's batch", 1},
    SpecField{"batch.last", "the last, smaller batch of an epoch: dropped, kept, or padded by repeating its samples"},
    SpecField{"batch.pad", "samples of varying sizes in one batch, filled up to the right and below"},
    SpecField{"batch.pad.to", "the largest of the batch, or pad.size; nothing: all samples must have one size"},
    SpecField{"batch.pad.size", "[height, width] in pixels, of pad.to: size alone", 1, 65535, {}, true},
    SpecField{"batch.pad.value", "of the padding, as a pixel before normalisation", 0, 255},
    SpecField{"batch.bucket", "samples of similar sizes in one batch, so that little is padded"},
    SpecField{"batch.bucket.window", "so many samples of an epoch's order are grouped by size; 0: none", 0,
              4294967295.0},
    SpecField{"batch.bucket.run", "samples of a group; 0: a batch of all ranks"},
    SpecField{"batch_operations", "on whole batches, in this order; labels become rows of probabilities"},
    SpecField{"execution", "how it runs; in exact order it changes no bit of a batch"},
    SpecField{"execution.threads", "of the loader; 0: tuned while it runs, or without autotune all usable cores", 0,
              1024},
    SpecField{"execution.prefetch", "batches made ahead of the consumer", 0, 1024},
    SpecField{"execution.read_ahead",
              "records read before they are asked for, so many at once; -1: as the data reward it", -1, 1024},
    SpecField{"execution.autotune", "what is left open of threads, batches and records ahead follows what is measured"},
    SpecField{"execution.cpu_limit", "cores that tuned threads may keep busy; 0: all usable ones", 0, 1024},
    SpecField{"execution.pinned", "page-locked memory, on devices that have it"},
    SpecField{"execution.order",
              "exact: the same batches in every run; relaxed: samples that are ready overtake others"},
    SpecField{"execution.memory_limit_mb", "what the pipeline may hold at most, in units of 10^6 bytes; 0: no limit", 0,
              static_cast<double>(1ULL << 40)},
    SpecField{"device", "that the batches are for, and what of the work is done there; by to_torch() of Python alone"},
    SpecField{"device.name",
              "cpu, cuda or cuda:N; empty: whoever runs the pipeline says where",
              {},
              {},
              {},
              false,
              "^(cpu|cuda(:[0-9]{1,9})?)?$"},
    SpecField{"device.operations", "device: those after the first that gives all samples one size; the host's bits"},
    SpecField{"device.decode",
              "with the operations there, the back end of nvJPEG that takes part; not the host's bits"},
    SpecField{"device.decode_share", "of the files that it can take, the same in every run; absent: by measured rates",
              0, 1},
    SpecField{"errors", "what a sample does that cannot be used"},
    SpecField{"errors.policy",
              "fail the run, skip the sample (its batch is shorter, and left out where nothing remains), or replace it "
              "by the "
              "next good one"},
    SpecField{"errors.limit", "more bad samples than this fail the run"},
    SpecField{"errors.rate", "so does a greater part than this of all samples read, from the 1000th on", {}, 1, 0},
    SpecField{"passes", "switches single optimisations on and off"},
};

}  // namespace

std::span<const SpecField> spec_fields() { return kFields; }

const SpecField* find_spec_field(std::string_view path) {
  const auto* const found =
      std::find_if(kFields.begin(), kFields.end(), [&](const SpecField& f) { return f.path == path; });
  return found == kFields.end() ? nullptr : found;
}

}  // namespace unstarve
