#include "unstarve/jobs/train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "unstarve/core/cancel.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/topology.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/quarantine.h"
#include "unstarve/jobs/resume_position.h"
#include "unstarve/jobs/tensorboard/training_events.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/check_data.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/ranks/mpi.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/train/history_json.h"
#include "unstarve/train/loader_source.h"

namespace unstarve {
namespace {

// The pipeline that evaluates on the data of `given`.
PipelineSpec validation_spec(const Settings& settings, const PipelineSpec& given) {
  PipelineSpec spec = settings.pipeline;
  spec.operations = given.operations.empty() ? evaluation_operations(settings.train.image_size) : given.operations;
  spec.source = given.source;
  spec.mix = given.mix;
  for (SourceSpec& source : spec.mix) {
    source.weight.reset();
    source.earlier_weights.clear();
  }
  const OrderSpec& order = settings.pipeline.order;
  spec.order = {false, order.seed, order.rank, order.world};
  spec.batch = {spec.batch.size, LastBatch::kKeep};
  spec.batch_operations.clear();  // evaluation uses unmixed images
  spec.cache = {};                // the cache is for the training data
  spec.device = {};
  spec.execution.prefetch = std::max(1, spec.execution.prefetch);
  return spec;
}

// Emits a notice for settings of `given` that evaluation ignores.
void notify_unused(const PipelineSpec& given) {
  std::vector<std::string> nodes;
  const OrderSpec& order = given.order;
  if (order.balance) nodes.push_back("order.balance");
  if (order.repeat > 1) nodes.push_back("order.repeat");
  if (order.epoch > 0) nodes.push_back("order.epoch");
  if (!given.mix.empty() && given.mix[0].weight) nodes.push_back("mix[].weight");
  if (!given.batch_operations.empty()) nodes.push_back("batch_operations");
  if (given.device != DeviceSpec{}) nodes.push_back("device");
  if (!nodes.empty())
    emit_notice(fmt::format("evaluation uses each sample of {} once: {} of its spec is ignored", name_of_sources(given),
                            fmt::join(nodes, ", ")));
}

void check_classes(const Dataset& training, const Dataset& validation) {
  if (training.classes() != validation.classes())
    throw Error(ErrorKind::kInput,
                fmt::format("validation data: classes {}; expected those of the training data, {}",
                            fmt::join(validation.classes(), ", "), fmt::join(training.classes(), ", ")));
}

// The file of --resume; "": none.
std::filesystem::path file_to_resume(const TrainOptions& options) {
  const std::filesystem::path file = checkpoint_to_resume(options.checkpoints.folder, options.resume);
  if (!options.resume.empty() && !options.weights.empty())
    throw Error(ErrorKind::kArgument, "train: found --resume and --weights; expected one of them");
  return file;
}

struct TrainData {
  std::shared_ptr<const Dataset> training, validation;  // validation: null without it
};

// Listing files or reading an index may take long: a stop ends it.
TrainData open_data(const TrainOptions& options, std::stop_token stop) {
  const CancelScope scope(std::move(stop));
  const PipelineSpec& spec = options.settings.pipeline;
  TrainData data{open_sources(spec), nullptr};
  require_labels_to_train(spec, *data.training);
  if (options.validation.source.path.empty() && options.validation.mix.empty()) return data;
  data.validation = open_sources(options.validation);
  require_labels_to_train(options.validation, *data.validation);
  check_classes(*data.training, *data.validation);
  notify_unused(options.validation);
  return data;
}

// Adds a step in the Trace Event Format of Chrome and Perfetto, in microseconds: on one track the loop, on another the
// exchange of gradients.
void add_to_trace(const TracedStep& step, nlohmann::json& events) {
  const auto add = [&](const std::string& name, bool exchange, double begin_us, double us) {
    events.push_back({{"name", name},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", exchange ? "exchange" : "training"},
                      {"ts", begin_us},
                      {"dur", us},
                      {"args", {{"step", step.step}}}});
  };
  const double begin_us = 1e6 * step.begin_s, step_us = begin_us + 1e6 * step.step_s;
  add("wait for batch", false, begin_us, 1e6 * step.wait_s);
  for (const StepSpan& span : step.spans)
    add(span.name, span.exchange, step_us + 1e3 * span.begin_ms, 1e3 * (span.end_ms - span.begin_ms));
}

// The settings of this rank: its share of the data, and of the CPU cores.
Settings settings_of_rank(const TrainOptions& options) {
  Settings settings = options.settings;
  const Ranks& ranks = options.ranks;
  if (!ranks.several()) return settings;
  settings.pipeline.order.rank = ranks.rank;
  settings.pipeline.order.world = ranks.world;
  int& limit = settings.pipeline.execution.cpu_limit;
  if (ranks.sharing > 1) limit = limit > 0 ? std::min(limit, cores_of_rank(ranks)) : cores_of_rank(ranks);
  return settings;
}

// MPI ends in order only if all ranks do.
void finish_ranks(const Ranks& ranks) {
  if (ranks.mpi) ranks.mpi->finish();
}

TrainResult train_rank(const TrainOptions& options, const Progress& progress, std::stop_token stop) {
  if (options.target > 0 && options.validation.source.path.empty() && options.validation.mix.empty())
    throw Error(ErrorKind::kArgument,
                "train: found a target accuracy but no validation data; expected both. Pass --val");
  const Settings settings = settings_of_rank(options);
  const std::filesystem::path resumed = file_to_resume(options);
  notify_done_on_host(settings.pipeline);
  const TrainData data = open_data(options, stop);
  const auto& dataset = data.training;
  const auto& validation = data.validation;
  const auto device = open_device(settings.train.device);
  const auto trainer = make_trainer(settings.train, options.ranks);

  TrainPlan plan;
  plan.minutes = options.minutes;
  plan.checkpoints = options.checkpoints;
  plan.checkpoint_seconds = options.checkpoint_seconds;
  plan.notice = [](const std::string& text) { emit_notice(text); };
  plan.rank = options.ranks.rank;
  plan.world = options.ranks.world;
  TrainProgress done;
  if (!resumed.empty()) done = trainer->restore(resumed);
  if (!options.weights.empty()) load_starting_weights(*trainer, options.weights);
  const ResumePosition position =
      resume_position_in(settings.pipeline, *dataset,
                         choose_samples(settings.pipeline, *dataset, read_topology().usable()), done, resumed.string());
  const auto per_epoch = static_cast<double>(position.per_epoch);
  const Consumer consumer = device->is_host() ? Consumer::kHost : Consumer::kNormalises;
  LoaderSource source(std::make_unique<Loader>(position.pipeline, dataset, *device,
                                               Loader::Options{position.start, 0, false, position.basis, consumer}));
  plan.start_step = done.step;
  plan.first_step = position.first_step;
  plan.epoch_steps = position.per_epoch;
  plan.resume_state = [&] { return position.state(source.loader().progress()); };
  if (options.epochs > 0) plan.steps = position.steps_of(options.epochs);
  plan.target = options.target;
  plan.evaluate_every = std::llround(options.evaluate_every * per_epoch);
  plan.report_every = std::clamp<std::int64_t>(position.per_epoch / 10, 1, 50);
  if (validation) {
    const PipelineSpec spec = validation_spec(settings, options.validation);
    const OrderBasis basis{samples_of_sources(spec, *validation, read_topology().usable()), {}};
    plan.validation_batches = static_cast<std::int64_t>(Order(spec.order, spec.batch, basis).batches_per_epoch());
    plan.validation = [spec, validation, basis, &device, consumer] {
      return std::make_unique<LoaderSource>(
          std::make_unique<Loader>(spec, validation, *device, Loader::Options{{}, 1, false, basis, consumer}),
          LoaderSource::Samples::kOfRank);
    };
  }
  nlohmann::json trace = nlohmann::json::array();
  const bool traces = !options.trace.empty() && options.ranks.first();
  if (traces) plan.trace = [&](const TracedStep& step) { add_to_trace(step, trace); };
  std::optional<TrainingEvents> events;
  if (!options.tensorboard.empty() && options.ranks.first()) events.emplace(options.tensorboard, plan.start_step);
  plan.report = [&](const TrainHistory& history) {
    if (events) events->update(history);
    if (!progress || history.points.empty()) return;
    const TrainPoint& point = history.points.back();
    const double by_time = options.minutes > 0 ? point.seconds / (60 * options.minutes) : 0;
    const double by_steps = plan.steps > 0 ? static_cast<double>(point.step) / static_cast<double>(plan.steps) : 0;
    progress(fmt::format("epoch {:.1f}  loss {:.3f}  {:.0f} img/s  waiting {:.0f} %{}", position.epochs_at(point.step),
                         point.loss, point.samples_per_s, 100 * point.wait_share,
                         history.evaluations.empty()
                             ? ""
                             : fmt::format("  accuracy {:.1f} %", 100 * history.evaluations.back().accuracy)),
             std::max(by_time, by_steps));
  };

  TrainResult result;
  result.settings = settings;
  result.settings.pipeline.execution.threads = source.loader().threads();
  const auto list_bad = [&] {
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    if (!options.quarantine.empty()) write_quarantine(options.quarantine, source.loader().bad_samples(kAll));
  };
  try {
    plan.stop = stop;
    result.history = run_training(*trainer, settings.train, source, plan);
    if (events) events->finish(result.history);
    if (traces) write_file_atomically(options.trace, nlohmann::json{{"traceEvents", trace}}.dump());
  } catch (...) {
    list_bad();
    throw;
  }
  list_bad();
  result.epochs = position.epochs_at(result.history.steps);
  result.parameters = trainer->parameters();
  result.macs = trainer->macs();
  result.target = options.target;
  result.price_per_hour = options.price_per_hour;
  result.ranks = options.ranks.world;
  result.exchange = trainer->exchange_times();
  result.bad = source.loader().bad_samples();
  return result;
}

}  // namespace

void require_labels_to_train(const PipelineSpec& spec, const Dataset& dataset) {
  require_labels(spec, dataset);
  if (spec.declines_labels() || dataset.field_index(FieldKind::kLabel) < 0)
    throw Error(ErrorKind::kArgument,
                fmt::format("train {}: labels: none; expected labels to train and evaluate with. Choose a column with "
                            "#label=NAME or source.labels: NAME.",
                            name_of_sources(spec)));
}

void load_starting_weights(Trainer& trainer, const std::filesystem::path& path) {
  const LoadedWeights weights = trainer.load_weights(path);
  if (!weights.initialised.empty())
    emit_notice(fmt::format("weights {}: loaded {} tensors; initialised, because the file has other classes: {}",
                            path.string(), weights.loaded, fmt::join(weights.initialised, ", ")));
}

TrainResult run_train(const TrainOptions& options, const Progress& progress, std::stop_token stop) {
  const Ranks& ranks = options.ranks;
  try {
    TrainResult result = train_rank(options, ranks.first() ? progress : Progress(), std::move(stop));
    finish_ranks(ranks);
    return result;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled && !std::string_view(error.what()).empty()) finish_ranks(ranks);
    throw;
  }
}

namespace {

// The exchange of gradients, per step.
struct ExchangeSummary {
  double exchange_ms = 0, exposed_ms = 0;
  double hidden = 0;      // share of the exchange during the backward pass
  double efficiency = 0;  // share of the training time without waiting for the exchange
};

ExchangeSummary summary_of(const TrainResult& r) {
  const ExchangeTimes& times = r.exchange;
  const double steps = std::max(1.0, static_cast<double>(times.steps));
  return {1e3 * times.seconds / steps, 1e3 * times.exposed_seconds / steps,
          times.seconds > 0 ? 1 - times.exposed_seconds / times.seconds : 0,
          1 - times.exposed_seconds / std::max(r.history.seconds, 1e-9)};
}

double cost_of(const TrainResult& r, double seconds) { return r.price_per_hour * seconds / 3600; }

std::string target_text(const TrainResult& r) {
  if (!r.history.reached_target) return fmt::format("target    {:.2f} % was not reached\n", 100 * r.target);
  const EvaluationPoint& last = r.history.evaluations.back();
  return fmt::format("target    {:.2f} % after {:.1f} s, {:.1f} s of training{}\n", 100 * r.target, last.seconds,
                     last.training_seconds,
                     r.price_per_hour > 0 ? fmt::format(", cost {:.4f}", cost_of(r, last.seconds)) : "");
}

nlohmann::ordered_json target_json(const TrainResult& r) {
  nlohmann::ordered_json target{{"accuracy", r.target},
                                {"reached", r.history.reached_target},
                                {"seconds", nullptr},
                                {"training_seconds", nullptr},
                                {"cost", nullptr}};
  if (!r.history.reached_target) return target;
  const EvaluationPoint& last = r.history.evaluations.back();
  target["seconds"] = last.seconds;
  target["training_seconds"] = last.training_seconds;
  if (r.price_per_hour > 0) target["cost"] = cost_of(r, last.seconds);
  return target;
}

}  // namespace

std::string to_text(const TrainResult& r) {
  const TrainHistory& h = r.history;
  std::string text =
      fmt::format("{} on {}: {:.1f} epochs, {} steps of {} in {:.0f} s, {:.0f} img/s, waiting {:.1f} %\n",
                  r.settings.train.model, r.settings.train.device, r.epochs, h.steps, r.settings.pipeline.batch.size,
                  h.seconds, static_cast<double>(h.samples) / h.seconds, 100 * h.wait_seconds / h.seconds);
  if (r.ranks > 1) {
    const ExchangeSummary s = summary_of(r);
    text += fmt::format(
        "ranks     {}, gradients exchanged in {:.1f} ms per step, {:.0f} % of it during the backward pass; scaling "
        "efficiency at most {:.1f} %\n",
        r.ranks, s.exchange_ms, 100 * s.hidden, 100 * s.efficiency);
  }
  if (!h.points.empty())
    text += fmt::format("loss      {:.3f} -> {:.3f}\n", h.points.front().loss, h.points.back().loss);
  if (!h.evaluations.empty())
    text += fmt::format("accuracy  {:.2f} % (validation loss {:.3f})\n", 100 * h.evaluations.back().accuracy,
                        h.evaluations.back().loss);
  if (r.target > 0) text += target_text(r);
  if (r.price_per_hour > 0)
    text += fmt::format("cost      {:.4f} at {:g} per hour\n", cost_of(r, h.seconds), r.price_per_hour);
  for (const BadSample& bad : r.bad) text += fmt::format("bad       {}: {}\n", to_string(bad.location), bad.reason);
  return text;
}

std::string to_json(const TrainResult& r) {
  const TrainHistory& h = r.history;
  nlohmann::ordered_json json;
  json["model"] = r.settings.train.model;
  json["device"] = r.settings.train.device;
  json["batch"] = r.settings.pipeline.batch.size;
  json["parameters"] = r.parameters;
  json["macs"] = r.macs;
  json["epochs"] = r.epochs;
  nlohmann::ordered_json history = to_json(h);
  for (const char* const key :
       {"steps", "samples", "seconds", "samples_per_s", "data_wait", "loss_first", "loss_last", "accuracy", "val_loss"})
    json[key] = std::move(history[key]);
  json["cost"] = r.price_per_hour > 0 ? nlohmann::ordered_json(cost_of(r, h.seconds)) : nlohmann::ordered_json();
  json["target"] = r.target > 0 ? target_json(r) : nlohmann::ordered_json();
  json["ranks"] = nullptr;
  if (r.ranks > 1) {
    const ExchangeSummary s = summary_of(r);
    json["ranks"] = {{"world", r.ranks},
                     {"exchange_ms", s.exchange_ms},
                     {"exposed_ms", s.exposed_ms},
                     {"hidden", s.hidden},
                     {"efficiency", s.efficiency}};
  }
  json["points"] = std::move(history["points"]);
  json["evaluations"] = std::move(history["evaluations"]);
  json["bad"] = nlohmann::json::array();
  for (const BadSample& bad : r.bad)
    json["bad"].push_back({{"location", to_string(bad.location)}, {"reason", bad.reason}});
  return json.dump();
}

}  // namespace unstarve
