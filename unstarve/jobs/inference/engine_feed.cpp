#include "unstarve/jobs/inference/engine_feed.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/size.h"

namespace unstarve {

EngineFeed::EngineFeed(EngineProcess& engine, Loader& loader, int image_size, std::string what)
    : engine_(engine),
      loader_(loader),
      image_size_(image_size),
      what_(std::move(what)),
      in_flight_(static_cast<std::size_t>(engine.requests())) {}

bool EngineFeed::run(const Use& use, const std::stop_token& stop) {
  int next = 0;
  bool stopped = false;
  for (;; next = (next + 1) % engine_.requests()) {
    collect(next, use);
    stopped = stop.stop_requested();
    if (stopped) break;
    const double begin = seconds_now();
    const auto batch = loader_.next();
    loader_wait_s_ += seconds_now() - begin;
    if (!batch) break;
    start(next, *batch);
  }
  for (int i = 0; i < engine_.requests(); ++i) collect((next + i) % engine_.requests(), use);
  return !stopped;
}

void EngineFeed::start(int request, const Batch& batch) {
  const Size size = batch.size();
  if (size.width != image_size_ || size.height != image_size_)
    throw Error(ErrorKind::kInput, fmt::format("{}: the operations make images of {} x {} px; expected {} x {}, the "
                                               "input of the model",
                                               what_, size.width, size.height, image_size_, image_size_));
  const std::span<float> input = engine_.input(request);
  if (batch.pixel_bytes() > input.size_bytes())
    throw Error(ErrorKind::kInternal, fmt::format("{}: found a batch of {} bytes; expected at most {}", what_,
                                                  batch.pixel_bytes(), input.size_bytes()));
  FedSamples& samples = in_flight_[static_cast<std::size_t>(request)];
  const auto valid = static_cast<std::ptrdiff_t>(batch.valid());
  samples.ids.assign(batch.ids().begin(), batch.ids().begin() + valid);
  samples.labels.assign(batch.labels().begin(), batch.labels().begin() + valid);
  std::memcpy(input.data(), batch.pixels(), batch.pixel_bytes());  // the last batch may have fewer samples
  engine_.start(request);
}

void EngineFeed::collect(int request, const Use& use) {
  FedSamples& samples = in_flight_[static_cast<std::size_t>(request)];
  if (samples.ids.empty()) return;
  const double begin = seconds_now();
  const std::span<const float> outputs = engine_.wait(request);
  engine_wait_s_ += seconds_now() - begin;
  use(samples, outputs);
  samples.ids.clear();
}

}  // namespace unstarve
