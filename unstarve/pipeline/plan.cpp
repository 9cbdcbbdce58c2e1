#include "unstarve/pipeline/plan.h"

#include <fmt/format.h>

#include <filesystem>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/crc32.h"

namespace unstarve {
namespace {

// How many samples are tried for a readable header before the data set is given up.
constexpr std::uint64_t kProbes = 100;

// The size of the first image that can be read: what the chain of operations starts from.
Size probe_size(const Dataset& dataset, int image_field, bool encoded) {
  RecordBuffer record;
  Decoder decoder;
  std::string reason;
  for (std::uint64_t id = 0; id < std::min(dataset.size(), kProbes); ++id) {
    try {
      dataset.read(id, record);
      const Value& value = record.values[static_cast<std::size_t>(image_field)];
      return encoded ? decoder.open(value.bytes).size : value.pixels.size();
    } catch (const Error& error) {
      if (reason.empty()) reason = dataset.location(id) + ": " + error.what();
    }
  }
  throw Error(ErrorKind::kInput, fmt::format("none of the first {} samples can be read; the first: {}",
                                             std::min(dataset.size(), kProbes), reason));
}

PassNote crop_pass(const Plan& plan, Size probed) {
  PassNote note{"crop_into_decode", false, true, ""};
  Random random(plan.spec.order.seed, 0, 0, 0);
  if (!plan.encoded) {
    note.reason = "samples are stored as pixels";
  } else if (plan.spec.cache.what == CacheWhat::kPixels) {
    note.reason = "whole images are decoded once, for the cache";
  } else if (!plan.spec.decode.crop_only) {
    note.reason = "switched off by decode.crop_only";
  } else if (plan.operations.empty()) {
    note.reason = "no operation selects a part";
  } else if (plan.operations[0]->select(probed, random) == Rect{0, 0, probed.width, probed.height} &&
             !plan.operations[0]->fixed_output()) {
    note.reason = fmt::format("{} reads the whole image", plan.spec.operations[0].name);
  } else {
    note.applied = true;
    note.reason = fmt::format("only what {} reads is decoded", plan.spec.operations[0].name);
  }
  return note;
}

PassNote scale_pass(const Plan& plan) {
  PassNote note{"scale_into_decode", false, false, ""};
  if (!plan.encoded) {
    note.reason = "samples are stored as pixels";
  } else if (plan.spec.cache.what == CacheWhat::kPixels) {
    note.reason = "whole images are decoded once, for the cache";
  } else if (!plan.spec.decode.reduced_scale) {
    note.reason = "approximate, and not asked for by decode.reduced_scale";
  } else if (plan.operations.empty() || !plan.operations[0]->resamples()) {
    note.reason = "the first operation does not resample";
  } else {
    note.applied = true;
    note.reason = "JPEG at 1/2, 1/4 or 1/8 where that is still at least the target size";
  }
  return note;
}

// Everything that the pixels in the cache depend on.
std::string cache_key(const Plan& plan) {
  const Dataset& data = *plan.dataset;
  std::string key = fmt::format("{}\n{}\n{}\n{} {}\n", plan.spec.source.path, plan.spec.source.split, data.format(),
                                data.size(), data.stored_bytes());
  for (std::size_t i = 0; i < plan.cached_operations; ++i) {
    key += plan.spec.operations[i].name;
    for (const auto& [name, values] : plan.spec.operations[i].params)
      key += fmt::format(" {}={}", name, fmt::join(values, ","));
    key += '\n';
  }
  return key;
}

// Opens the cache that the spec asks for, or only tells of it; it stands before the first random operation.
PassNote place_cache(Plan& plan, Caches caches) {
  PassNote note{"cache", false, true, "not asked for by cache.what"};
  const CacheSpec& cache = plan.spec.cache;
  if (cache.what == CacheWhat::kNothing) return note;
  if (!plan.encoded)
    throw Error(ErrorKind::kArgument, "cache.what: the samples are stored as pixels, which need no cache");
  const std::uint64_t limit = cache.limit_mb * 1'000'000;
  note.applied = true;
  if (cache.what == CacheWhat::kEncoded) {
    if (caches == Caches::kOpened) plan.dataset = plan.encoded_cache = cache_encoded(plan.dataset, limit);
    note.reason = fmt::format("encoded records, up to {} MB in memory", cache.limit_mb);
    return note;
  }
  while (plan.cached_operations < plan.operations.size() && !plan.operations[plan.cached_operations]->random())
    ++plan.cached_operations;
  const std::string key = cache_key(plan);
  std::filesystem::path file;
  if (!cache.folder.empty()) {
    const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(key.data()), key.size());
    file = std::filesystem::path(cache.folder) / fmt::format("pixels-{:08x}-{}mb", crc32(bytes), cache.limit_mb);
  }
  if (caches == Caches::kOpened) plan.pixel_cache = open_pixel_store(file, key, plan.dataset->size(), limit);
  note.reason = fmt::format("pixels after {} of {} operations, up to {} MB in {}", plan.cached_operations,
                            plan.operations.size(), cache.limit_mb, file.empty() ? "memory" : file.string());
  return note;
}

// Decides how many records are read ahead, where the spec leaves it open.
PassNote place_read_ahead(Plan& plan) {
  int& reads = plan.spec.execution.read_ahead;
  const bool asked = reads >= 0;
  if (!asked) reads = plan.dataset->reads_in_flight();
  PassNote note{"read_ahead", reads > 0, true, ""};
  if (reads > 0) {
    note.reason =
        fmt::format("{} records in flight, {}", reads,
                    asked ? "as asked for by execution.read_ahead" : "the data lie on a cold disk or a server");
  } else {
    note.reason = asked ? "switched off by execution.read_ahead" : "the data lie in memory or in the page cache";
  }
  return note;
}

}  // namespace

void check_spec(const PipelineSpec& spec) {
  const auto fail = [](const std::string& node, const std::string& what) {
    throw Error(ErrorKind::kArgument, node + ": " + what);
  };
  const auto within = [&](const char* node, int value, int low, int high) {
    if (value < low || value > high) fail(node, fmt::format("{}, expected {} to {}", value, low, high));
  };
  within("execution.threads", spec.execution.threads, 0, 1024);
  within("execution.prefetch", spec.execution.prefetch, 0, 1024);
  within("execution.read_ahead", spec.execution.read_ahead, -1, 1024);
  if (spec.batch.size < 1) fail("batch.size", fmt::format("{}, expected 1 or more", spec.batch.size));
  if (spec.order.world < 1) fail("order.world", fmt::format("{}, expected 1 or more", spec.order.world));
  if (spec.order.rank < 0 || spec.order.rank >= spec.order.world)
    fail("order.rank", fmt::format("rank {} of world {}, expected 0 <= rank < world", spec.order.rank, spec.order.world));
  if (!(spec.errors.rate > 0 && spec.errors.rate <= 1))
    fail("errors.rate", fmt::format("{}, expected above 0 and at most 1", spec.errors.rate));
  const CacheSpec& cache = spec.cache;
  if (cache.what != CacheWhat::kNothing && (cache.limit_mb == 0 || cache.limit_mb > std::uint64_t{1} << 40))
    fail("cache.limit_mb", fmt::format("{}, expected 1 or more", cache.limit_mb));
  if (cache.what == CacheWhat::kEncoded && !cache.folder.empty())
    fail("cache.folder", "encoded records are kept in memory; leave it out, or keep pixels");
  for (std::size_t i = 0; i < spec.operations.size(); ++i) {
    try {
      (void)make_operation(spec.operations[i]);
    } catch (const Error& error) {
      fail(fmt::format("operations[{}]", i), error.what());
    }
  }
  try {
    const Storer storer(spec.output);
  } catch (const Error& error) {
    fail("output", error.what());
  }
}

Plan make_plan(PipelineSpec spec, std::shared_ptr<const Dataset> dataset, int usable_cores, Caches caches) {
  check_spec(spec);
  if (spec.execution.threads == 0) spec.execution.threads = usable_cores;

  Order order(spec.order, spec.batch, dataset->size());
  Plan plan{std::move(spec), std::move(dataset), {}, order, {}, 0, -1, false, false, false, {}, {}, 0, {}};
  const Dataset& data = *plan.dataset;
  plan.image_field = data.field_index(FieldKind::kEncodedImage);
  plan.encoded = plan.image_field >= 0;
  if (!plan.encoded) plan.image_field = data.field_index(FieldKind::kPixels);
  if (plan.image_field < 0)
    throw Error(ErrorKind::kInput, fmt::format("{} has no image field, and a pipeline needs one", data.format()));
  plan.label_field = data.field_index(FieldKind::kLabel);

  for (const OpSpec& operation : plan.spec.operations) plan.operations.push_back(make_operation(operation));
  const Size probed = probe_size(data, plan.image_field, plan.encoded);
  plan.sizes = {probed};
  for (const auto& operation : plan.operations) plan.sizes.push_back(operation->output_size(plan.sizes.back()));
  plan.sample_size = plan.sizes.back();

  const PassNote cache = place_cache(plan, caches);
  plan.passes = {crop_pass(plan, probed), scale_pass(plan), cache, place_read_ahead(plan)};
  plan.crop_into_decode = plan.passes[0].applied;
  plan.scale_into_decode = plan.passes[1].applied;
  return plan;
}

std::string explain(const Plan& plan) {
  std::string text = fmt::format("source      {}, {} samples, {}\n", plan.dataset->format(), plan.dataset->size(),
                                 plan.encoded ? "encoded images" : "pixels");
  text += fmt::format("order       {}, seed {}, rank {} of {}\n",
                      plan.spec.order.shuffle ? "keyed permutation" : "as stored", plan.spec.order.seed,
                      plan.spec.order.rank, plan.spec.order.world);
  const auto size = [&](std::size_t i) { return fmt::format("{}x{}", plan.sizes[i].width, plan.sizes[i].height); };
  text += fmt::format("image       {}, the first that can be read\n", size(0));
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    const OpSpec& operation = plan.spec.operations[i];
    text += "operation   " + operation.name;
    for (const auto& [name, values] : operation.params) text += fmt::format(" {}={}", name, fmt::join(values, ","));
    text += fmt::format(": {} -> {}{}\n", size(i), size(i + 1), plan.operations[i]->random() ? ", random" : "");
  }
  text += fmt::format("batch       {} x {}x{}, {} per epoch\n", plan.spec.batch.size, plan.sample_size.width,
                      plan.sample_size.height, plan.order.batches_per_epoch());
  text += fmt::format("execution   {} threads, {} batches ahead\n", plan.spec.execution.threads,
                      plan.spec.execution.prefetch);
  for (const auto& pass : plan.passes)
    text += fmt::format("pass        {} ({}): {}; {}\n", pass.name, pass.exact ? "exact" : "approximate",
                        pass.applied ? "applied" : "not applied", pass.reason);
  return text;
}

}  // namespace unstarve
