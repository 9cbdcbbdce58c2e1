#include "unstarve/torch/graph_engine.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <vector>

#include "unstarve/core/file.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/torch/import/importer.h"
#include "unstarve/torch/networks/graph_network.h"

using namespace unstarve;

namespace {

// A network with random weights as a file.
class EngineFile {
 public:
  EngineFile() : graph(infer::random_network({.model = "cifar_net", .image_size = 32, .classes = 7, .seed = 3})) {
    path = std::filesystem::temp_directory_path() / ("graph-engine-" + std::to_string(::getpid()) + ".onnx");
    write_file_atomically(path, infer::format_onnx(graph));
  }
  ~EngineFile() { std::filesystem::remove(path); }

  infer::Graph graph;
  std::filesystem::path path;
};

// Counts results.
class DoneRequests {
 public:
  Engine::Done callback() {
    return [this](int request, const std::string& error) {
      const std::lock_guard lock(mutex_);
      REQUIRE(error.empty());
      done_.push_back(request);
      changed_.notify_one();
    };
  }
  std::vector<int> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_.size() >= count; });
    return done_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> done_;
};

}  // namespace

TEST_CASE("the engine libtorch computes what the network computes") {
  const EngineFile file;
  const auto engine = make_libtorch_engine(file.path.string());
  CHECK(engine->model().version.starts_with("2."));
  CHECK(engine->model().inputs.at(0).shape == std::vector<std::int64_t>{-1, 3, 32, 32});
  CHECK(engine->model().inputs.at(0).type == "float32");
  GraphNetwork network(file.graph);
  network.eval();
  for (const std::int64_t batch : {2, 3}) {  // compiled again
    DoneRequests done;
    const CompiledFacts facts =
        engine->compile({1, 1, static_cast<int>(batch)}, std::vector<std::int64_t>{batch, 3, 32, 32}, done.callback());
    CHECK(facts.output_shape == std::vector<std::int64_t>{batch, 7});
    CHECK(facts.precision == "float32");
    const torch::Tensor images = torch::randn({2, batch, 3, 32, 32});
    torch::Tensor outputs = torch::empty({2, batch, 7});
    for (int i = 0; i < 2; ++i) engine->bind(i, images[i].data_ptr<float>(), outputs[i].data_ptr<float>());
    for (int i = 0; i < 2; ++i) engine->start(i);
    CHECK(done.wait(2) == std::vector<int>{0, 1});
    const torch::NoGradGuard no_grad;
    for (int i = 0; i < 2; ++i) CHECK(torch::allclose(outputs[i], network.forward(images[i]), 1e-3, 1e-4));
  }
}

TEST_CASE("the engine libtorch rejects what it cannot compute") {
  const EngineFile file;
  const auto engine = make_libtorch_engine(file.path.string());
  const auto compile = [&](int streams, std::vector<std::int64_t> shape) {
    (void)engine->compile({streams, 2, 1}, shape, [](int, const std::string&) {});
  };
  CHECK_THROWS_WITH(compile(2, {1, 3, 32, 32}), "engine libtorch: found 2 streams; expected 1");
  CHECK_THROWS_AS(compile(1, {1, 4, 32, 32}), Error);
  CHECK_THROWS_AS(make_libtorch_engine("/no/such/file.onnx"), Error);
}
