// Loads batches from a data source of this program, or from files, with an operation of this program.
//
//   own_parts [PATH]     images of at least 24 pixels; without a path, gradients

#include <cstdio>
#include <exception>
#include <memory>

#include "gradients.h"
#include "threshold.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/storage/open.h"

namespace {

constexpr const char* kSpec = R"(
operations: [center_crop: {size: 24}, threshold: {at: 100}]
order: {shuffle: true, seed: 1}
output: {type: uint8, layout: NHWC}
batch: {size: 4, last: keep}
)";

void run(const std::shared_ptr<const unstarve::Dataset>& data) {
  const std::unique_ptr<unstarve::Device> device = unstarve::open_device("cpu");
  unstarve::Loader loader(unstarve::pipeline_from_yaml(kSpec, "kSpec"), data, *device, {.start = {}, .epochs = 1});
  while (const auto batch = loader.next()) {
    std::size_t white = 0;
    for (std::size_t i = 0; i < batch->pixel_bytes(); ++i) white += batch->pixels()[i] == 255 ? 1 : 0;
    std::printf("batch %llu: %zu samples, %.1f %% white\n", static_cast<unsigned long long>(batch->index()),
                batch->samples(), 100.0 * static_cast<double>(white) / static_cast<double>(batch->pixel_bytes()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    add_threshold();
    run(argc > 1 ? unstarve::open_dataset(argv[1], "") : make_gradients(10, 32));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_parts: %s\n", error.what());
    return 1;
  }
}
