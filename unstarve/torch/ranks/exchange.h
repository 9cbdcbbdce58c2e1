#pragma once
// What the ranks of a data-parallel training exchange: gradients, batch-norm statistics, metrics and decisions.
//
//   backward ── gradients ready ──▶ bucket full ──▶ allreduce while backward continues ──▶ mean gradients
//
// Gradients are collected in buckets by c10d's Reducer (Li et al., "PyTorch Distributed", VLDB 2020): the first of
// 1 MiB, then of 25 MiB, in the order in which the first backward pass produced them.
//
// Threads:   one at a time. All ranks make the same calls in the same order.
// Failure:   exceptions of c10d, for example after another rank has ended.
// Ownership: shares parameters and buffers with their network.

#include <memory>
#include <span>
#include <vector>

#include <torch/nn/module.h>
#include <torch/types.h>

#include "unstarve/models/kernels/synchronised_batch_norm.h"
#include "unstarve/ranks/ranks.h"
#include "unstarve/torch/ranks/time_mark.h"
#include "unstarve/train/trainer.h"

namespace c10d {
class ProcessGroup;
}

namespace unstarve {

class Exchange {
 public:
  virtual ~Exchange() = default;

  // Gives all ranks the parameters and buffers of rank 0.
  virtual void send_weights() = 0;
  // Around the forward pass of a step whose backward pass exchanges gradients; not for accumulating steps. After
  // backward() the gradients are the means over all ranks.
  virtual void before_forward() = 0;
  virtual void before_backward() = 0;
  // Replaces tensors of one floating-point type by their means over all ranks.
  virtual void average(std::span<torch::Tensor> tensors) = 0;
  // Replaces a tensor on any device by its sum over all ranks. It must not outlive this object.
  [[nodiscard]] virtual const SumOverRanks& sum_over_ranks() const = 0;
  // In host memory.
  virtual void sum(std::span<double> values) = 0;
  virtual void largest(std::span<double> values) = 0;
  [[nodiscard]] virtual double mean(double value) = 0;

  // After a failure: whether this rank is the first to ask. True if the others cannot be reached.
  [[nodiscard]] virtual bool first_to_fail() noexcept = 0;
  // Adds the exchanged buckets of the latest step, relative to `origin`.
  virtual void add_spans(TimeMark& origin, std::vector<StepSpan>& spans) = 0;
  // Of all steps so far; waits for the device.
  [[nodiscard]] virtual ExchangeTimes times() = 0;
};

// Where a group reduces values that are in host memory: on the CPU if it has a backend for it, otherwise, as with NCCL
// alone, on `device`.
[[nodiscard]] torch::Device device_of_values(const c10d::ProcessGroup& group, torch::Device device);

// Joins the process group of `ranks`, which has several.
[[nodiscard]] std::unique_ptr<Exchange> make_exchange(const Ranks& ranks, torch::nn::Module& network,
                                                      torch::Device device);

}  // namespace unstarve
