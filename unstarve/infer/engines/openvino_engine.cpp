// Engine based on OpenVINO's C++ library.
#include <openvino/openvino.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <sstream>
#include <utility>

#include "unstarve/infer/engines/openvino_module.h"

namespace unstarve {
namespace {

// The statements of a message of OpenVINO, without the source positions around them, in one line.
std::string statements_of(const std::string& message) {
  std::istringstream lines(message);
  std::string text, line;
  while (std::getline(lines, line)) {
    if (line.empty() || line.starts_with("Exception from ") || line.starts_with("Check '")) continue;
    text += (text.empty() ? "" : "; ") + line;
  }
  return text.empty() ? message : text;
}

template <class Call>
auto translated(const std::string& operation, const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kInput, operation + ": " + statements_of(error.what()));
  }
}

std::string type_name(const ov::element::Type& type) {
  if (type == ov::element::f32) return "float32";
  if (type == ov::element::f16) return "float16";
  if (type == ov::element::bf16) return "bfloat16";
  if (type == ov::element::f64) return "float64";
  if (type == ov::element::u8) return "uint8";
  if (type == ov::element::i8) return "int8";
  if (type == ov::element::i32) return "int32";
  if (type == ov::element::i64) return "int64";
  return type.get_type_name();
}

TensorFacts facts_of(const ov::Output<ov::Node>& port) {
  TensorFacts facts{port.get_any_name(), type_name(port.get_element_type()), {}};
  const ov::PartialShape& shape = port.get_partial_shape();
  if (shape.rank().is_static())
    for (const ov::Dimension& side : shape) facts.shape.push_back(side.is_static() ? side.get_length() : -1);
  return facts;
}

// Whether a layer of the compiled model is the work of which the time of a network consists.
bool has_products(const std::string& layer) {
  return layer == "Convolution" || layer == "GroupConvolution" || layer == "Deconvolution" || layer == "MatMul" ||
         layer == "FullyConnected";
}

std::string info_of(const ov::Node& node, const char* key) {
  const auto found = node.get_rt_info().find(key);
  return found == node.get_rt_info().end() ? std::string() : found->second.as<std::string>();
}

std::map<std::string, int> kernels_of(const ov::CompiledModel& compiled) {
  std::map<std::string, int> kernels;
  for (const auto& node : compiled.get_runtime_model()->get_ordered_ops())
    if (const std::string layer = info_of(*node, "layerType"); has_products(layer))
      ++kernels[layer + " " + info_of(*node, "primitiveType")];
  return kernels;
}

// The names of a list with commas.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream words(list);
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  return names;
}

class OpenVinoEngine final : public Engine {
 public:
  explicit OpenVinoEngine(const std::string& path)
      : path_(path), model_(translated("engine openvino: read " + path, [&] { return core_.read_model(path); })) {
    const std::string build = ov::get_openvino_version().buildNumber;  // 2026.4.1-22982-e213a147257-releases/2026/4
    facts_.version = build.substr(0, build.find('-'));
    for (const auto& port : model_->inputs()) facts_.inputs.push_back(facts_of(port));
    for (const auto& port : model_->outputs()) facts_.outputs.push_back(facts_of(port));
  }

  [[nodiscard]] const ModelFacts& model() const override { return facts_; }

  CompiledFacts compile(const EngineSettings& settings, std::span<const std::int64_t> shape, Done done) override {
    requests_.clear();
    done_ = std::move(done);
    return translated("engine openvino: compile " + path_, [&] {
      const ov::PartialShape requested(std::vector<ov::Dimension>(shape.begin(), shape.end()));
      if (model_->input(0).get_partial_shape() != requested) model_->reshape(requested);
      settings_ = settings;
      compiled_ = compiled(false);
      CompiledFacts facts;
      for (const std::size_t side : compiled_.output(0).get_shape())
        facts.output_shape.push_back(static_cast<std::int64_t>(side));
      facts.precision = type_name(compiled_.get_property(ov::hint::inference_precision));
      facts.kernels = kernels_of(compiled_);
      return facts;
    });
  }

  std::vector<LayerTime> profile(int runs) override {
    return translated("engine openvino: profile " + path_, [&] {
      ov::CompiledModel model = compiled(true);
      ov::InferRequest request = model.create_infer_request();
      ov::Tensor input = request.get_input_tensor();
      std::memset(input.data(), 0, input.get_byte_size());
      std::map<std::string, std::vector<double>> times_ms;  // by executed node
      std::map<std::string, std::string> kernels;
      for (int run = 0; run <= runs; ++run) {
        request.infer();
        if (run == 0) continue;  // the first one allocates
        for (const ov::ProfilingInfo& part : request.get_profiling_info()) {
          if (part.status != ov::ProfilingInfo::Status::EXECUTED) continue;
          times_ms[part.node_name].push_back(static_cast<double>(part.real_time.count()) / 1e3);
          kernels[part.node_name] = part.node_type + " " + part.exec_type;
        }
      }
      std::vector<LayerTime> layers;
      for (const auto& node : model.get_runtime_model()->get_ordered_ops()) {
        const auto found = times_ms.find(node->get_friendly_name());
        if (found == times_ms.end()) continue;
        std::vector<double>& times = found->second;
        const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
        std::nth_element(times.begin(), middle, times.end());
        layers.push_back({split(info_of(*node, "originalLayersNames")), kernels[found->first], *middle});
      }
      return layers;
    });
  }

  void bind(int request, float* input, float* output) override {
    translated("engine openvino: " + path_, [&] {
      ov::InferRequest made = compiled_.create_infer_request();
      made.set_input_tensor(ov::Tensor(ov::element::f32, compiled_.input(0).get_shape(), input));
      made.set_output_tensor(0, ov::Tensor(ov::element::f32, compiled_.output(0).get_shape(), output));
      made.set_callback([this, request](std::exception_ptr failure) { finish(request, std::move(failure)); });
      requests_.resize(std::max(requests_.size(), static_cast<std::size_t>(request) + 1));
      requests_[static_cast<std::size_t>(request)] = std::move(made);
    });
  }

  void start(int request) override {
    translated("engine openvino: run " + path_, [&] { requests_.at(static_cast<std::size_t>(request)).start_async(); });
  }

 private:
  // The threads of the loader share the CPUs, so they are not pinned.
  ov::CompiledModel compiled(bool profiled) {
    const ov::element::Type precision = settings_.precision == "bfloat16" ? ov::element::bf16 : ov::element::f32;
    return core_.compile_model(model_, "CPU", ov::num_streams(settings_.streams),
                               ov::inference_num_threads(settings_.threads), ov::hint::inference_precision(precision),
                               ov::hint::enable_cpu_pinning(false), ov::enable_profiling(profiled));
  }

  void finish(int request, std::exception_ptr failure) {
    std::string text;
    try {
      if (failure) std::rethrow_exception(std::move(failure));
    } catch (const std::exception& error) {
      text = "engine openvino: run " + path_ + ": " + statements_of(error.what());
    }
    done_(request, text);
  }

  std::string path_;
  ov::Core core_;
  std::shared_ptr<ov::Model> model_;
  ModelFacts facts_;
  Done done_;
  EngineSettings settings_;
  ov::CompiledModel compiled_;
  std::vector<ov::InferRequest> requests_;  // destroyed first: they wait for what is in flight
};

}  // namespace

std::unique_ptr<Engine> make_openvino_engine(const std::string& model) {
  return std::make_unique<OpenVinoEngine>(model);
}

}  // namespace unstarve
