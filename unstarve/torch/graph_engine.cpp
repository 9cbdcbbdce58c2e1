#include "unstarve/torch/graph_engine.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/version.h>

#include "unstarve/infer/onnx/read_onnx.h"
#include "unstarve/infer/passes/pass.h"
#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/networks/graph_network.h"

namespace unstarve {
namespace {

TensorFacts facts_of(const infer::Value& value) {
  static_assert(infer::kBatch == -1);  // as in TensorFacts
  return {value.name, std::string(infer::name_of(value.type.element)), value.type.shape};
}

infer::Graph read_graph(const std::string& model) { return infer::run_passes(infer::read_onnx_file(model)).graph; }

class GraphEngine final : public Engine {
 public:
  explicit GraphEngine(const std::string& model) : graph_(read_graph(model)), network_(graph_) {
    facts_.version = TORCH_VERSION;
    for (const infer::ValueId id : graph_.inputs) facts_.inputs.push_back(facts_of(graph_.value(id)));
    for (const infer::ValueId id : graph_.outputs) facts_.outputs.push_back(facts_of(graph_.value(id)));
    network_.eval();
    for (torch::Tensor& weights : network_.parameters()) {
      weights.set_requires_grad(false);
      if (weights.dim() == 4) weights.set_data(weights.contiguous(torch::MemoryFormat::ChannelsLast));
    }
  }

  ~GraphEngine() override { stop(); }
  GraphEngine(const GraphEngine&) = delete;
  GraphEngine& operator=(const GraphEngine&) = delete;

  [[nodiscard]] const ModelFacts& model() const override { return facts_; }

  CompiledFacts compile(const EngineSettings& settings, std::span<const std::int64_t> shape, Done done) override {
    if (settings.streams != 1)
      throw Error(ErrorKind::kInput, fmt::format("engine libtorch: found {} streams; expected 1", settings.streams));
    stop();
    shape_.assign(shape.begin(), shape.end());
    done_ = std::move(done);
    type_ = settings.precision == "bfloat16" ? torch::kBFloat16 : torch::kFloat32;
    buffers_.clear();
    at::set_num_threads(settings.threads);
    CompiledFacts facts;
    facts.output_shape =
        translate_errors("engine libtorch: compile", [&] { return compute(torch::zeros(shape_)).sizes().vec(); });
    facts.precision = settings.precision;
    worker_ = std::jthread([this, threads = settings.threads](const std::stop_token& stopped) {
      at::set_num_threads(threads);  // a setting of each thread
      work(stopped);
    });
    return facts;
  }

  void bind(int request, float* input, float* output) override {
    buffers_.resize(std::max(buffers_.size(), static_cast<std::size_t>(request) + 1));
    buffers_[static_cast<std::size_t>(request)] = {input, output};
  }

  void start(int request) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(request);
    }
    changed_.notify_one();
  }

  std::vector<LayerTime> profile(int) override { return {}; }

 private:
  struct Buffers {
    float *input = nullptr, *output = nullptr;
  };

  void stop() {
    worker_ = {};  // requests and joins
    waiting_.clear();
  }

  torch::Tensor compute(const torch::Tensor& images) {
    const c10::InferenceMode inference;
    const AutocastScope autocast(torch::kCPU, type_);
    const auto format = images.dim() == 4 ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
    return network_.forward(images.contiguous(format)).to(torch::kFloat32).contiguous();
  }

  void work(const std::stop_token& stopped) {
    while (true) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stopped, [&] { return !waiting_.empty(); })) return;
      const int request = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      std::string failure;
      try {
        const Buffers& buffers = buffers_.at(static_cast<std::size_t>(request));
        const torch::Tensor output = compute(torch::from_blob(buffers.input, shape_));
        std::copy_n(output.const_data_ptr<float>(), output.numel(), buffers.output);
      } catch (const std::exception& error) {
        failure = std::string("engine libtorch: ") + error.what();
      }
      done_(request, failure);
    }
  }

  infer::Graph graph_;
  GraphNetwork network_;
  ModelFacts facts_;
  std::vector<std::int64_t> shape_;
  Done done_;
  torch::ScalarType type_ = torch::kFloat32;
  std::vector<Buffers> buffers_;  // by request
  std::mutex mutex_;              // of `waiting_`
  std::condition_variable_any changed_;
  std::deque<int> waiting_;
  std::jthread worker_;  // last: uses the members above
};

}  // namespace

std::unique_ptr<Engine> make_libtorch_engine(const std::string& model) {
  return translate_errors("engine libtorch: read '" + model + "'",
                          [&]() -> std::unique_ptr<Engine> { return std::make_unique<GraphEngine>(model); });
}

}  // namespace unstarve
