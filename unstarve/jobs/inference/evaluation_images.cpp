#include "unstarve/jobs/inference/evaluation_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {

std::uint64_t EvaluationImages::size() const { return samples->size(); }

EvaluationImages open_images(EvaluationData data, std::optional<Normalisation> of_model) {
  data.of_model = of_model;
  notice_other_normalisation(data);
  EvaluationImages images{std::move(data), nullptr, nullptr};
  images.dataset = open_sources(images.data.spec);
  images.samples = samples_of_sources(images.data.spec, *images.dataset);
  if (images.samples->size() > 0) return images;
  throw Error(ErrorKind::kInput,
              fmt::format("read '{}': found no image; expected at least one", name_of_sources(images.data.spec)));
}

std::uint64_t run_images(const CompiledEngine& compiled, const EvaluationImages& images, const ImageRun& run,
                         const EngineFeed::Use& use) {
  const std::uint64_t skip = std::min(run.skip, images.size()), left = images.size() - skip;
  const std::uint64_t requested = run.images == 0 ? left : std::min(run.images, left);
  PipelineSpec spec = evaluation_pipeline(images.data, compiled.image_size, compiled.settings.batch);
  spec.order.shuffle = run.images > 0 || skip > 0;
  spec.order.seed = run.seed;
  const std::unique_ptr<Device> device = open_device("cpu");
  Loader loader(spec, images.dataset, *device,
                {.start = {0, 0, skip}, .epochs = 1, .basis = {images.samples, {}}, .check_data = run.labels});
  ItemProgress items(run.progress, requested, "images");
  std::stop_source enough;
  const std::stop_callback forward(run.stop, [&] { enough.request_stop(); });
  const Order order(spec.order, spec.batch, {images.samples, {}});
  const Order::Epoch epoch = order.epoch(0);
  std::unordered_set<std::uint64_t> wanted;
  for (std::uint64_t i = skip; i < skip + requested; ++i) wanted.insert(epoch.id_at(i));
  std::uint64_t used = 0;
  EngineFeed feed(compiled.engine, loader, compiled.image_size, run.what);
  (void)feed.run(
      [&](const FedSamples& samples, std::span<const float> outputs) {
        const auto is_other = [&](std::uint64_t id) { return !wanted.contains(id); };
        const auto count =
            static_cast<std::uint64_t>(std::ranges::find_if(samples.ids, is_other) - samples.ids.begin());
        if (count < samples.ids.size()) enough.request_stop();
        if (count == 0) return;
        const std::size_t row = outputs.size() / static_cast<std::size_t>(compiled.settings.batch);
        FedSamples first = samples;
        first.ids.resize(count);
        first.labels.resize(count);
        use(first, outputs.first(count * row));
        used += count;
        items.add(count);
        if (used == requested) enough.request_stop();
      },
      enough.get_token());
  if (run.stop.stop_requested()) throw Error(ErrorKind::kCancelled, run.what + ": stopped");
  if (used > 0) return used;
  throw Error(ErrorKind::kInput, fmt::format("{}: found no image of '{}' that can be read; expected at least one",
                                             run.what, name_of_sources(images.data.spec)));
}

}  // namespace unstarve
