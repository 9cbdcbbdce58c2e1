#include "unstarve/torch/ranks/exchange.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "unstarve/core/error.h"
#include "unstarve/torch/ranks/mpi_backend.h"

namespace unstarve {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
using Tensors = std::vector<torch::Tensor>;

constexpr std::size_t kFirstBucketBytes = std::size_t{1} << 20;
constexpr std::size_t kBucketBytes = std::size_t{25} << 20;
constexpr std::size_t kBroadcastBytes = std::size_t{64} << 20;

Group open_group(const Ranks& ranks, torch::Device device) {
  if (ranks.launcher == Launcher::kTorchrun) return c10d::resolve_process_group(ranks.group);
  if (!device.is_cpu())
    throw Error(
        ErrorKind::kMissing,
        "train: found a GPU under mpirun or srun; expected the CPU. Use torchrun --nproc-per-node N -m unstarve "
        "train, which exchanges gradients with NCCL");
  Group group = c10::make_intrusive<c10d::ProcessGroup>(ranks.rank, ranks.world);
  group->setBackend(torch::kCPU, c10d::ProcessGroup::BackendType::CUSTOM, make_mpi_backend(ranks.mpi));
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  return group;
}

// When the buckets of the steps were exchanged. After an error in a backward pass, an exchange that has begun ends at
// any time, also after the network is destroyed.
class BucketTimes {
 public:
  explicit BucketTimes(torch::Device device) : device_(device) {}

  // A bucket is full: its exchange begins. The result is given to end(), by any thread.
  std::size_t begin() {
    const std::lock_guard lock(mutex_);
    marks_.emplace_back(device_);
    marks_.back().begin.record();
    return marks_.size() - 1;
  }
  void end(std::size_t bucket) {
    const std::lock_guard lock(mutex_);
    if (bucket < marks_.size()) marks_[bucket].end.record();
  }

  // After backward(): adds its buckets to the total.
  void step_done() {
    const std::lock_guard lock(mutex_);
    if (marks_.empty()) return;
    ++total_.steps;
    TimeMark& origin = marks_.front().begin;
    double busy_until = 0, last_begin = 0;
    for (Marks& bucket : marks_) {
      const double begin = bucket.begin.ms_since(origin), end = bucket.end.ms_since(origin);
      total_.seconds += std::max(0.0, end - std::max(begin, busy_until)) * 1e-3;
      busy_until = std::max(busy_until, end);
      last_begin = std::max(last_begin, begin);
    }
    // The gradients of the last bucket are the last ones that backward() computes.
    total_.exposed_seconds += (busy_until - last_begin) * 1e-3;
    marks_.clear();
  }
  [[nodiscard]] const ExchangeTimes& total() const { return total_; }

  void add_spans(TimeMark& origin, std::vector<StepSpan>& spans) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < marks_.size(); ++i)
      spans.push_back({"exchange bucket " + std::to_string(i), true, marks_[i].begin.ms_since(origin),
                       marks_[i].end.ms_since(origin)});
  }

 private:
  struct Marks {
    explicit Marks(torch::Device device) : begin(device), end(device) {}
    TimeMark begin, end;
  };
  torch::Device device_;
  std::mutex mutex_;
  std::deque<Marks> marks_;  // of the current step
  ExchangeTimes total_;
};

// Called by the Reducer for each full bucket.
class MeanHook final : public c10d::CommHookInterface {
 public:
  MeanHook(Group group, std::shared_ptr<BucketTimes> times) : group_(std::move(group)), times_(std::move(times)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    Tensors tensors{bucket.getBufferRef().div_(group_->getSize())};
    const std::size_t number = times_->begin();
    const auto future = group_->allreduce(tensors)->getFuture();
    // The Reducer waits for the returned future, and thus for end(), which another thread calls. Not after an error.
    return future->then(
        [times = times_, number](c10::ivalue::Future& exchanged) {
          times->end(number);
          return exchanged.value();
        },
        future->elementType());
  }
  torch::Tensor parseHookResult(const c10::IValue& result) override {
    return c10d::detail::parseCppCommHookResult(result);
  }

 private:
  Group group_;
  std::shared_ptr<BucketTimes> times_;
};

// The constructor has a list of bucket limits in newer versions of libtorch.
template <class Reducer = c10d::Reducer>
std::unique_ptr<Reducer> make_reducer(const Tensors& parameters, const Group& group) {
  auto [buckets, limits] =
      c10d::compute_bucket_assignment_by_size(parameters, {kFirstBucketBytes, kBucketBytes}, {}, {}, {});
  // Backward passes produce the last parameters' gradients first.
  std::reverse(buckets.begin(), buckets.end());
  constexpr bool kFindUnused = false, kGradientsAreViews = true, kSkipUnused = false, kPythonReducer = false;
  const auto make = [&](auto... more) {
    return std::make_unique<Reducer>(
        parameters, buckets, group, std::vector<bool>(parameters.size()), static_cast<std::int64_t>(kBucketBytes),
        kFindUnused, kGradientsAreViews, std::unordered_map<std::size_t, std::string>{},
        static_cast<std::int64_t>(kFirstBucketBytes), kSkipUnused, kPythonReducer, more...);
  };
  using Limits = std::vector<std::int64_t>;
  if constexpr (std::is_constructible_v<Reducer, Tensors, decltype(buckets), Group, std::vector<bool>, std::int64_t,
                                        bool, bool, std::unordered_map<std::size_t, std::string>, std::int64_t, bool,
                                        bool, Limits>) {
    return make(Limits{});
  } else {
    return make();
  }
}

class GroupExchange final : public Exchange {
 public:
  GroupExchange(Group group, torch::nn::Module& network, torch::Device device)
      : group_(std::move(group)),
        device_of_values_(device_of_values(*group_, device)),
        parameters_(network.parameters()),
        times_(std::make_shared<BucketTimes>(device)) {
    try {
      c10d::verify_params_across_processes(group_, parameters_, {});
    } catch (const c10::Error& error) {
      const std::string_view reason = error.what_without_backtrace();
      if (reason.find("expects same model") == std::string_view::npos) throw;
      throw Error(ErrorKind::kArgument,
                  fmt::format("training: the ranks have different networks ({}); expected the same parameters, in the "
                              "same order, on every rank",
                              reason.substr(0, reason.find('\n'))));
    }
    for (const torch::Tensor& buffer : network.buffers()) buffers_.push_back(buffer);
    Tensors trained;
    for (const torch::Tensor& parameter : parameters_)
      if (parameter.requires_grad()) trained.push_back(parameter);
    reducer_ = make_reducer(trained, group_);
    reducer_->register_comm_hook(std::make_unique<MeanHook>(group_, times_));
  }

  void send_weights() override {
    const torch::NoGradGuard no_grad;
    Tensors all = buffers_;
    for (const torch::Tensor& parameter : parameters_) all.push_back(parameter.detach());
    c10d::broadcast_coalesced(group_, all, kBroadcastBytes, 0);
  }

  void before_forward() override {
    times_->step_done();
    reducer_->prepare_for_forward();
    (void)reducer_->rebuild_buckets();  // once, after the first backward pass
  }
  void before_backward() override { reducer_->prepare_for_backward({}); }

  void average(std::span<torch::Tensor> tensors) override {
    if (tensors.empty()) return;
    const torch::NoGradGuard no_grad;
    Tensors flat;
    for (const torch::Tensor& tensor : tensors) flat.push_back(tensor.flatten());
    Tensors all{torch::cat(flat)};
    group_->allreduce(all)->wait();
    all[0].div_(group_->getSize());
    std::int64_t first = 0;
    for (torch::Tensor& tensor : tensors) {
      tensor.copy_(all[0].narrow(0, first, tensor.numel()).view_as(tensor));
      first += tensor.numel();
    }
  }

  void add_spans(TimeMark& origin, std::vector<StepSpan>& spans) override { times_->add_spans(origin, spans); }
  const SumOverRanks& sum_over_ranks() const override { return sum_over_ranks_; }
  void sum(std::span<double> values) override { reduce(values, c10d::ReduceOp::SUM); }
  void largest(std::span<double> values) override { reduce(values, c10d::ReduceOp::MAX); }
  double mean(double value) override {
    sum({&value, 1});
    return value / group_->getSize();
  }

  // The store is a process of torchrun, which outlives the ranks. mpirun reports the end of a rank itself.
  bool first_to_fail() noexcept override {
    try {
      const auto store = group_->getStore();
      return !store || store->add("unstarve/failed", 1) == 1;
    } catch (const std::exception&) {
      return true;
    }
  }

  ExchangeTimes times() override {
    times_->step_done();
    return times_->total();
  }

 private:
  void reduce(std::span<double> values, c10d::ReduceOp::RedOpType operation) {
    torch::Tensor host = torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, torch::kFloat64);
    Tensors tensors{host.to(device_of_values_)};
    c10d::AllreduceOptions options;
    options.reduceOp = operation;
    group_->allreduce(tensors, options)->wait();
    host.copy_(tensors[0]);
  }

  Group group_;
  const torch::Device device_of_values_;
  const Tensors parameters_;
  Tensors buffers_;
  std::shared_ptr<BucketTimes> times_;
  std::unique_ptr<c10d::Reducer> reducer_;
  const SumOverRanks sum_over_ranks_ = [this](torch::Tensor& values) {
    Tensors tensors{values};
    group_->allreduce(tensors)->wait();
  };
};

}  // namespace

torch::Device device_of_values(const c10d::ProcessGroup& group, torch::Device device) {
  const std::vector<torch::Device> devices = group.getDeviceTypes();
  const bool on_cpu = std::ranges::any_of(devices, [](torch::Device each) { return each.is_cpu(); });
  return on_cpu ? torch::Device(torch::kCPU) : device;
}

std::unique_ptr<Exchange> make_exchange(const Ranks& ranks, torch::nn::Module& network, torch::Device device) {
  return std::make_unique<GroupExchange>(open_group(ranks, device), network, device);
}

}  // namespace unstarve
