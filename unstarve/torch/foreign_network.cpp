#include "unstarve/torch/foreign_network.h"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/library.h>

#include "unstarve/core/error.h"
#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/networks/nested_modules.h"
#include "unstarve/torch/torch_trainer.h"

namespace unstarve {
namespace {

// The tensors of a network that are on their way.
struct Handover {
  std::vector<std::pair<std::string, torch::Tensor>> parameters, buffers;
  torch::Tensor input, labels, output, loss;
};

class Handovers {
 public:
  std::int64_t add() {
    const std::lock_guard lock(mutex_);
    all_.emplace(++last_, std::make_shared<Handover>());
    return last_;
  }
  std::shared_ptr<Handover> at(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(number);
    TORCH_CHECK(found != all_.end(), "network ", number, " does not exist");
    return found->second;
  }
  // The tensors are released by the caller, without the lock, because that may call Python.
  std::shared_ptr<Handover> remove(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto node = all_.extract(number);
    return node ? node.mapped() : nullptr;
  }

 private:
  std::mutex mutex_;
  std::int64_t last_ = 0;
  std::map<std::int64_t, std::shared_ptr<Handover>> all_;
};

// Never destroyed: tensors of Python must not be released after the interpreter has ended.
Handovers& handovers() {
  static auto* const all = new Handovers;
  return *all;
}

std::int64_t new_network() { return handovers().add(); }
void drop_network(std::int64_t number) { (void)handovers().remove(number); }

void add_parameter(std::int64_t number, std::string name, const torch::Tensor& tensor) {
  handovers().at(number)->parameters.emplace_back(std::move(name), tensor);
}
void add_buffer(std::int64_t number, std::string name, const torch::Tensor& tensor) {
  handovers().at(number)->buffers.emplace_back(std::move(name), tensor);
}

// Tensors are given up, so that their memory is released as early as in a loop of Python.
torch::Tensor input(std::int64_t number) { return std::exchange(handovers().at(number)->input, {}); }
torch::Tensor labels(std::int64_t number) { return std::exchange(handovers().at(number)->labels, {}); }
torch::Tensor loss(std::int64_t number) { return std::exchange(handovers().at(number)->loss, {}); }
void output(std::int64_t number, const torch::Tensor& tensor) { handovers().at(number)->output = tensor; }

class ForeignModule final : public Network {
 public:
  ForeignModule(const ForeignNetwork& calls, std::shared_ptr<Handover> tensors)
      : calls_(calls), tensors_(std::move(tensors)) {
    for (const auto& [name, tensor] : tensors_->parameters) {
      const auto [parent, key] = parent_of(*this, name);
      parent->register_parameter(key, tensor, tensor.requires_grad());
    }
    for (const auto& [name, tensor] : tensors_->buffers) {
      const auto [parent, key] = parent_of(*this, name);
      parent->register_buffer(key, tensor);
      if (tensor.is_floating_point() && torch::isinf(tensor).any().item<bool>()) infinite_.insert(name);
    }
  }

  bool is_infinite(const std::string& buffer) const override { return infinite_.contains(buffer); }

  torch::Tensor forward(torch::Tensor x) override {
    tensors_->input = std::move(x);
    calls_.forward();
    tensors_->input.reset();
    return take_output("forward");
  }

  torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& labels, double label_smoothing) override {
    if (!calls_.loss) return Network::loss(logits, labels, label_smoothing);
    tensors_->input = logits;
    tensors_->labels = labels;
    calls_.loss();
    tensors_->input.reset();
    tensors_->labels.reset();
    return take_output("loss");
  }

  void backward(const torch::Tensor& loss) override {
    tensors_->loss = loss;
    calls_.backward();
    tensors_->loss.reset();
  }

  // Every step requests the mode.
  void train(bool on) override {
    if (mode_ == on) return;
    calls_.set_training(on);
    torch::nn::Module::train(on);
    mode_ = on;
  }

 private:
  torch::Tensor take_output(const char* call) {
    torch::Tensor output = std::exchange(tensors_->output, {});
    if (!output.defined())
      throw Error(ErrorKind::kArgument, fmt::format("{}: {} stored no output; expected one tensor", calls_.name, call));
    return output;
  }

  const ForeignNetwork calls_;
  const std::shared_ptr<Handover> tensors_;
  std::set<std::string> infinite_;  // names of buffers
  std::optional<bool> mode_;
};

}  // namespace

void register_operators() {
  // Never destroyed: the module is not unloaded.
  static const torch::Library* const library = translate_errors("registering the operators of foreign networks", [] {
    auto* const all = new torch::Library(torch::Library::DEF, "unstarve", std::nullopt, __FILE__, __LINE__);
    all->def("new_network() -> int", &new_network);
    all->def("drop_network(int network) -> ()", &drop_network);
    all->def("add_parameter(int network, str name, Tensor parameter) -> ()", &add_parameter);
    all->def("add_buffer(int network, str name, Tensor buffer) -> ()", &add_buffer);
    all->def("input(int network) -> Tensor", &input);
    all->def("labels(int network) -> Tensor", &labels);
    all->def("output(int network, Tensor output) -> ()", &output);
    all->def("loss(int network) -> Tensor", &loss);
    return all;
  });
  (void)library;
}

NetworkPtr take_network(const ForeignNetwork& calls) {
  return std::make_shared<ForeignModule>(calls, handovers().at(calls.number));
}

}  // namespace unstarve
