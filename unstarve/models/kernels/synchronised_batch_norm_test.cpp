// Two threads as two ranks, each with half of a batch, against torch's batch norm with the whole batch.

#include "unstarve/models/kernels/synchronised_batch_norm.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

// The sum over two threads, which call it in the same order.
class PairSum {
 public:
  void operator()(torch::Tensor& values) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    torch::Tensor& sum = sums_[round % 2];
    if (++waiting_ == 1) {
      sum = values.clone();
      changed_.wait(lock, [&] { return round_ != round; });
    } else {
      sum += values;
      waiting_ = 0;
      ++round_;
      changed_.notify_all();
    }
    values.copy_(sum);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<torch::Tensor, 2> sums_;  // the other thread may begin the next round before this one has read its sum
  int waiting_ = 0;
  std::uint64_t round_ = 0;
};

struct Result {
  torch::Tensor y, dx, dweight, dbias, mean, variance;
};

constexpr std::int64_t kChannels = 5;

BatchNormState new_state(const torch::Tensor& weight, const torch::Tensor& bias) {
  return {weight.detach().clone().requires_grad_(), bias.detach().clone().requires_grad_(), torch::zeros({kChannels}),
          torch::ones({kChannels})};
}

Result run(const torch::Tensor& x, const torch::Tensor& dy, const BatchNormState& state, const SumOverRanks* sum) {
  const torch::Tensor input = x.detach().clone(torch::MemoryFormat::Preserve).requires_grad_();
  const torch::Tensor y = sum != nullptr
                              ? synchronised_batch_norm(input, state, *sum)
                              : torch::batch_norm(input, state.weight, state.bias, state.running_mean,
                                                  state.running_var, true, state.momentum, state.epsilon, true);
  y.backward(dy);
  return {y.detach(), input.grad(), state.weight.grad(), state.bias.grad(), state.running_mean, state.running_var};
}

}  // namespace

TEST_CASE("two halves of a batch are normalised like the whole batch, forward and backward") {
  torch::manual_seed(4);
  const bool channels_last = GENERATE(false, true);
  const torch::Dtype type = GENERATE(torch::kFloat32, torch::kBFloat16);
  const auto format = channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  const torch::Tensor x = (torch::randn({6, kChannels, 4, 3}) * 3 + 20).to(type).contiguous(format);
  const torch::Tensor dy = torch::randn({6, kChannels, 4, 3}).to(type).contiguous(format);
  const torch::Tensor weight = torch::rand({kChannels}) + 0.5, bias = torch::randn({kChannels});
  const Result whole = run(x, dy, new_state(weight, bias), nullptr);

  PairSum pair;
  const SumOverRanks sum = [&](torch::Tensor& values) { pair(values); };
  std::array<Result, 2> halves;
  std::array<std::thread, 2> threads;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    threads[rank] = std::thread([&, rank] {
      const auto half = [&](const torch::Tensor& values) { return values.narrow(0, 3 * rank, 3).contiguous(format); };
      halves[rank] = run(half(x), half(dy), new_state(weight, bias), &sum);
    });
  }
  for (std::thread& thread : threads) thread.join();

  const double tolerance = type == torch::kFloat32 ? 1e-4 : 5e-2;
  const auto close = [&](const torch::Tensor& a, const torch::Tensor& b) {
    return torch::allclose(a.to(torch::kFloat32), b.to(torch::kFloat32), tolerance, tolerance);
  };
  CHECK(close(torch::cat({halves[0].y, halves[1].y}), whole.y));
  CHECK(close(torch::cat({halves[0].dx, halves[1].dx}), whole.dx));
  CHECK(close(halves[0].dweight + halves[1].dweight, whole.dweight));
  CHECK(close(halves[0].dbias + halves[1].dbias, whole.dbias));
  for (const Result& half : halves) {
    CHECK(close(half.mean, whole.mean));
    CHECK(close(half.variance, whole.variance));
  }
  CHECK(halves[0].y.scalar_type() == type);
  CHECK(halves[0].dx.scalar_type() == type);
}

}  // namespace unstarve
