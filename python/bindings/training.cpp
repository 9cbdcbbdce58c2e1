// Training: the training loop (train/loop.h) on a network, batches and reports of Python.
//
//   Training.run() ──GIL released──▶ run_training() ──GIL──▶ network.forward(), .backward(), .train()
//                                                    ──GIL──▶ source.next(), .position(); validation(); report()
//
// Tensors cross by the operators of torch/foreign_network.h, batches as addresses.
//
// Threads:   run() calls Python in the calling thread only; stop() may be called from any thread.
// Failure:   exceptions of Python end the run and are thrown unchanged.
// Ownership: the objects of a batch are released, with the GIL, when no tensor views their memory.

#include "python/bindings/bindings.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <fmt/format.h>
#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>

#include "python/bindings/gil.h"
#include "python/bindings/notices.h"
#include "python/bindings/text.h"
#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/tensorboard/training_events.h"
#include "unstarve/jobs/training/prune_report.h"
#include "unstarve/train/checkpoints.h"
#include "unstarve/train/history_json.h"
#include "unstarve/train/loop.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// An object that is used and released without the GIL; each use acquires it.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  ~Held() {
    const GilAcquire acquire;
    object_.reset();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  // Precondition: the GIL is held.
  [[nodiscard]] const nb::object& object() const { return object_; }

 private:
  nb::object object_;
};

// What next() returns of a batch: address of the pixels, their ElementType, whether they are NHWC, height, width,
// address and number of the labels, address and number of the targets, whether the pixels are pinned, and the owner of
// the memory.
using BatchTuple = std::tuple<std::uintptr_t, int, bool, int, int, std::uintptr_t, std::size_t, std::uintptr_t,
                              std::size_t, bool, nb::object>;

class PythonBatches final : public BatchSource {
 public:
  // Precondition: the GIL is held.
  PythonBatches(nb::object source, std::stop_token stop) : source_(std::move(source)), stop_(std::move(stop)) {
    const auto [mean, std] = nb::cast<std::pair<std::array<float, kChannels>, std::array<float, kChannels>>>(
        source_.object().attr("normalisation"));
    normalisation_ = {mean, std};
  }

  bool next(HostBatch& batch) override {
    const GilAcquire acquire;
    const nb::object found = next_object();
    if (found.is_none()) return false;
    auto [pixels, type, nhwc, height, width, labels, samples, targets, values, pinned, owner] =
        nb::cast<BatchTuple>(found);
    batch.pixels = reinterpret_cast<const std::uint8_t*>(pixels);
    batch.labels = {reinterpret_cast<const std::int64_t*>(labels), samples};
    batch.size = {width, height};
    batch.format = {static_cast<ElementType>(type), nhwc ? Layout::kNhwc : Layout::kNchw, normalisation_};
    batch.pinned = pinned;
    batch.targets = {reinterpret_cast<const float*>(targets), values};
    batch.owner = std::make_shared<const Held>(std::move(owner));
    return true;
  }
  [[nodiscard]] DataPosition position() {
    const GilAcquire acquire;
    return [encode = std::make_shared<const Held>(source_.object().attr("position")())] {
      const GilAcquire acquire;
      return nb::cast<std::string>(encode->object()());
    };
  }

 private:
  // Ctrl-C also ends the workers of torch's DataLoader, which then raises RuntimeError.
  [[nodiscard]] nb::object next_object() {
    try {
      return source_.object().attr("next")();
    } catch (const nb::python_error& error) {
      if (!stop_.stop_requested() || !error.matches(PyExc_Exception)) throw;
      throw Error(ErrorKind::kCancelled, fmt::format("training was stopped (the loader raised {}: {})",
                                                     nb::cast<std::string>(error.type().attr("__name__")),
                                                     nb::cast<std::string>(nb::str(error.value()))));
    }
  }

  Held source_;
  std::stop_token stop_;
  Normalisation normalisation_;
};

// (rank, world, local rank, ranks of this machine, name of the process group)
using RanksTuple = std::tuple<int, int, int, int, std::string>;

Ranks ranks_of(const std::optional<RanksTuple>& given) {
  if (!given) return {};
  const auto& [rank, world, local_rank, local_world, group] = *given;
  return {Launcher::kTorchrun, rank, world, local_rank, local_world, group, nullptr};
}

class Training {
 public:
  Training(const TrainSettings& settings, const nb::object& network, const std::optional<RanksTuple>& ranks)
      : settings_(settings),
        forward_(network.attr("forward")),
        loss_(network.attr("loss")),
        backward_(network.attr("backward")),
        train_(network.attr("train")),
        ranks_(ranks_of(ranks)) {
    ForeignNetwork calls{nb::cast<std::string>(network.attr("name")),
                         nb::cast<std::int64_t>(network.attr("number")),
                         [this] { call(forward_); },
                         {},
                         [this] { backward(); },
                         [this](bool on) { call(train_, on); }};
    if (!loss_.is_none()) calls.loss = [this] { call(loss_); };
    const GilRelease release;
    trainer_ = make_trainer(settings_, calls, ranks_);
  }
  ~Training() {
    const GilRelease release;
    trainer_.reset();
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  std::pair<std::int64_t, std::string> restore(const std::string& path) {
    const GilRelease release;
    TrainProgress progress = restore_checkpoint(*trainer_, path);
    return {progress.step, std::move(progress.data)};
  }

  // Returns the history as JSON. `validation` creates a source, or is None. `report` is called with each point as JSON.
  std::string run(TrainPlan plan, nb::object source, const nb::object& validation, const nb::object& report,
                  const std::string& tensorboard) {
    PythonBatches batches(std::move(source), stop_.get_token());
    const GilRelease release;
    std::optional<TrainingEvents> events;
    if (!tensorboard.empty() && ranks_.first()) events.emplace(tensorboard, plan.start_step);
    if (validation.ptr() != Py_None) {
      plan.validation = [this, &validation] {
        const GilAcquire acquire;
        return std::make_unique<PythonBatches>(validation(), stop_.get_token());
      };
    }
    plan.data_position = [&batches] { return batches.position(); };
    plan.report = [&](const TrainHistory& history) {
      if (events) events->update(history);
      const GilAcquire acquire;
      report(point_of(history));
    };
    plan.notice = queue_notice;
    plan.stop = stop_.get_token();
    plan.rank = ranks_.rank;
    plan.world = ranks_.world;
    TrainHistory history;
    try {
      history = run_training(*trainer_, settings_, batches, plan);
    } catch (...) {
      if (events) events->finish_early();
      throw;
    }
    if (events) events->finish(history);
    nlohmann::ordered_json result = to_json(history);
    result["pruning"] = nullptr;
    if (settings_.prune.any()) result["pruning"] = to_json(trainer_->pruning(), settings_.prune);
    return json_text(result);
  }

  void stop() { stop_.request_stop(); }
  // Gives the network its average, and releases network and trainer: a traceback may keep this object.
  void end() {
    {
      const GilRelease release;
      const std::unique_ptr<Trainer> trainer = std::move(trainer_);
      if (trainer) trainer->use_average();
    }
    forward_.reset();
    loss_.reset();
    backward_.reset();
    train_.reset();
  }

 private:
  template <class... Arguments>
  static void call(const nb::object& function, Arguments... arguments) {
    const GilAcquire acquire;
    function(arguments...);
  }
  // Gradients are exchanged within the backward pass, where errors of the exchange become exceptions of Python.
  void backward() {
    const GilAcquire acquire;
    try {
      backward_();
    } catch (const nb::python_error& error) {
      if (!ranks_.several() || !PyErr_GivenExceptionMatches(error.type().ptr(), PyExc_RuntimeError)) throw;
      const auto type = nb::cast<std::string>(error.type().attr("__name__"));
      auto text = nb::cast<std::string>(nb::str(error.value()));
      if (!type.starts_with("Dist") && text.find("/gloo/") == std::string::npos) throw;  // not of torch.distributed
      const std::size_t end = text.find("] ");
      if (text.starts_with('[') && end != std::string::npos) text.erase(0, end + 2);  // Gloo's source file
      throw Error(ErrorKind::kIo, "training step: " + text);
    }
  }
  // The last point, with the result of the last evaluation.
  static std::string point_of(const TrainHistory& history) {
    nlohmann::ordered_json point = to_json(history.points.back());
    const bool evaluated = !history.evaluations.empty();
    point["accuracy"] = evaluated ? nlohmann::json(history.evaluations.back().accuracy) : nlohmann::json();
    point["val_loss"] = evaluated ? nlohmann::json(history.evaluations.back().loss) : nlohmann::json();
    return json_text(point);
  }

  const TrainSettings settings_;
  nb::object forward_, loss_, backward_, train_;
  const Ranks ranks_;
  std::stop_source stop_;
  std::unique_ptr<Trainer> trainer_;
};

void bind_plan(nb::module_& m) {
  nb::class_<TrainPlan>(m, "TrainPlan")
      .def(nb::init<>())
      .def_rw("steps", &TrainPlan::steps)
      .def_rw("minutes", &TrainPlan::minutes)
      .def_rw("start_step", &TrainPlan::start_step)
      .def_rw("first_step", &TrainPlan::first_step)
      .def_rw("report_every", &TrainPlan::report_every)
      .def_rw("evaluate_every", &TrainPlan::evaluate_every)
      .def_rw("target", &TrainPlan::target)
      .def_rw("checkpoint_seconds", &TrainPlan::checkpoint_seconds)
      .def_rw("validation_batches", &TrainPlan::validation_batches)
      .def(
          "write_to",
          [](TrainPlan& plan, const std::string& folder, int keep, const std::string& resumed) {
            plan.checkpoints = {folder, "", keep, resumed};
          },
          "folder"_a, "keep"_a, "resumed"_a);
}

}  // namespace

void bind_training(nb::module_& m) {
  bind_plan(m);
  m.def(
      "checkpoint_to_resume",
      [](const std::string& folder, const std::string& resume) {
        return checkpoint_to_resume(folder, resume).string();
      },
      "folder"_a, "resume"_a);
  m.def(
      "folder_of_resumed", [](const std::string& resume) { return folder_of_resumed(resume).string(); }, "resume"_a);
  m.def("register_network_operators", &register_network_operators, nb::call_guard<GilRelease>());
  nb::class_<Training>(m, "Training")
      .def(nb::init<const TrainSettings&, const nb::object&, const std::optional<RanksTuple>&>(), "settings"_a,
           "network"_a, "ranks"_a.none())
      .def("restore", &Training::restore, "path"_a)
      .def("run", &Training::run, "plan"_a, "source"_a, "validation"_a.none(), "report"_a, "tensorboard"_a)
      .def("stop", &Training::stop)
      .def("end", &Training::end);
}

}  // namespace unstarve::python
