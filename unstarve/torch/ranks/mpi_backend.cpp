#include "unstarve/torch/ranks/mpi_backend.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

namespace unstarve {
namespace {

using Tensors = std::vector<at::Tensor>;

class MpiWork final : public c10d::Work {
 public:
  MpiWork(c10d::OpType type, Tensors outputs)
      : Work(-1, type),
        outputs_(std::move(outputs)),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

  // Runs `operation` and completes the work with its result. Called once, by the thread of the backend.
  void run(const std::function<void()>& operation) {
    std::exception_ptr error;
    try {
      operation();
    } catch (...) {
      error = std::current_exception();
    }
    if (error) {
      future_->setError(error);
    } else {
      future_->markCompleted(c10::IValue(outputs_));
    }
    finish(error);
  }

  Tensors result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  Tensors outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

MpiType type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return MpiType::kFloat32;
    case at::kDouble: return MpiType::kFloat64;
    default: TORCH_CHECK(false, "MPI: tensors of type ", tensor.scalar_type(), " are not supported");
  }
}

MpiReduction reduction_of(const c10d::ReduceOp& operation) {
  switch (operation.op_) {
    case c10d::ReduceOp::SUM: return MpiReduction::kSum;
    case c10d::ReduceOp::MAX: return MpiReduction::kMaximum;
    default: TORCH_CHECK(false, "MPI: only sum and maximum are supported");
  }
}

// The memory of a tensor without gaps, in any order of its dimensions.
void* memory_of(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_cpu() && tensor.is_non_overlapping_and_dense(),
              "MPI: expected a dense tensor on the CPU");
  return tensor.data_ptr();
}

const at::Tensor& only(const Tensors& tensors) {
  TORCH_CHECK(tensors.size() == 1, "MPI: found ", tensors.size(), " tensors in a call; expected 1");
  return tensors[0];
}

class MpiBackend final : public c10d::Backend {
 public:
  explicit MpiBackend(std::shared_ptr<MpiWorld> world)
      : Backend(world->position().rank, world->position().world),
        world_(std::move(world)),
        thread_([this] { run(); }) {}

  ~MpiBackend() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  [[nodiscard]] const std::string getBackendName() const override { return "mpi"; }

  c10::intrusive_ptr<c10d::Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    const at::Tensor& tensor = only(tensors);
    void* const memory = memory_of(tensor);
    const auto count = static_cast<std::size_t>(tensor.numel());
    return submit(c10d::OpType::ALLREDUCE, tensors,
                  [=, this, type = type_of(tensor), reduction = reduction_of(options.reduceOp)] {
                    world_->reduce(memory, count, type, reduction);
                  });
  }

  c10::intrusive_ptr<c10d::Work> broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    void* const memory = memory_of(only(tensors));
    const std::size_t bytes = tensors[0].nbytes();
    return submit(c10d::OpType::BROADCAST, tensors,
                  [=, this, root = static_cast<int>(options.rootRank)] { world_->broadcast(memory, bytes, root); });
  }

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                           const c10d::AllgatherOptions& /*options*/) override {
    const at::Tensor input = only(inputs);
    const void* const mine = memory_of(input);
    TORCH_CHECK(outputs.size() == 1 && outputs[0].size() == static_cast<std::size_t>(getSize()),
                "MPI: expected one output for each rank");
    return submit(c10d::OpType::ALLGATHER, outputs[0], [=, this, results = outputs[0]] {
      const std::size_t bytes = input.nbytes();
      std::vector<char> all(bytes * results.size());
      world_->gather(mine, all.data(), bytes);
      for (std::size_t i = 0; i < results.size(); ++i)
        std::memcpy(memory_of(results[i]), all.data() + i * bytes, bytes);
    });
  }

 private:
  struct Entry {
    c10::intrusive_ptr<MpiWork> work;
    std::function<void()> operation;
  };

  // The tensors are kept by the work.
  c10::intrusive_ptr<c10d::Work> submit(c10d::OpType type, const Tensors& outputs, std::function<void()> operation) {
    auto work = c10::make_intrusive<MpiWork>(type, outputs);
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({work, std::move(operation)});
    }
    changed_.notify_one();
    return work;
  }

  void run() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Entry entry = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      entry.work->run(entry.operation);
      lock.lock();
    }
  }

  const std::shared_ptr<MpiWorld> world_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  bool stop_ = false;
  std::thread thread_;  // last member: uses all others
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_mpi_backend(std::shared_ptr<MpiWorld> world) {
  return c10::make_intrusive<MpiBackend>(std::move(world));
}

}  // namespace unstarve
