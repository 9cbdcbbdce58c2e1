#include "unstarve/jobs/train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "unstarve/core/cancel.h"
#include "unstarve/core/clock.h"
#include "unstarve/core/cpu_split.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/topology.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/data/quarantine.h"
#include "unstarve/jobs/host/start_environment.h"
#include "unstarve/jobs/resume_position.h"
#include "unstarve/jobs/tensorboard/training_events.h"
#include "unstarve/jobs/training/progressive_run.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/check_data.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/ranks/mpi.h"
#include "unstarve/ranks/rank_watch.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/train/history_json.h"
#include "unstarve/train/loader_source.h"
#include "unstarve/train/resident_source.h"

namespace unstarve {
namespace {

// The pipeline that evaluates on the data of `given`.
PipelineSpec validation_spec(const Settings& settings, const PipelineSpec& given) {
  PipelineSpec spec = settings.pipeline;
  const TrainSettings& train = settings.train;
  const int side = train.evaluation_size > 0 ? train.evaluation_size : train.image_size;
  spec.operations = given.operations.empty() ? evaluation_operations(side) : given.operations;
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

void check_classes(const TrainSettings& settings, const Dataset& training) {
  if (training.classes().size() > static_cast<std::size_t>(settings.classes))
    throw Error(ErrorKind::kArgument, fmt::format("train.classes: found {}; expected at least the {} of the data",
                                                  settings.classes, training.classes().size()));
}

void check_allocator(const HostSettings& host) {
  if (const std::string missing = missing_allocator(host.allocator, read_host_facts()); !missing.empty())
    throw Error(ErrorKind::kMissing, "host.allocator: " + missing);
}

void check_equal_classes(const Dataset& training, const Dataset& validation) {
  if (training.classes() != validation.classes())
    throw Error(ErrorKind::kInput,
                fmt::format("validation data: classes {}; expected those of the training data, {}",
                            fmt::join(validation.classes(), ", "), fmt::join(training.classes(), ", ")));
}

// Collects the errors of a configuration, so that one error lists all of them.
class ConfigurationFaults {
 public:
  template <class Check>
  void collect(Check&& check) {
    try {
      check();
    } catch (const Error& error) {
      const ErrorKind kind = error.kind();
      if (kind == ErrorKind::kCancelled || kind == ErrorKind::kMemory || kind == ErrorKind::kInternal) throw;
      faults_.push_back(error);
    }
  }
  // A single error is thrown as it is, several as Error(kArgument), one after another.
  void throw_if_any() const {
    if (faults_.empty()) return;
    if (faults_.size() == 1) throw Error(faults_[0]);
    std::vector<std::string_view> texts;
    for (const Error& fault : faults_) texts.emplace_back(fault.what());
    throw Error(ErrorKind::kArgument, fmt::format("{}", fmt::join(texts, "\n")));
  }

 private:
  std::vector<Error> faults_;
};

// The file of --resume; "": none.
std::filesystem::path file_to_resume(const TrainOptions& options) {
  const std::filesystem::path file = checkpoint_to_resume(options.checkpoints.folder, options.resume);
  if (!options.resume.empty() && !options.weights.empty())
    throw Error(ErrorKind::kArgument, "train: found --resume and --weights; expected one of them");
  return file;
}

bool has_source(const PipelineSpec& spec) { return !spec.source.path.empty() || !spec.mix.empty(); }

struct TrainData {
  std::shared_ptr<const Dataset> training, validation;  // validation: null without it
};

// Listing files or reading an index may take long: a stop ends it.
TrainData open_data(const TrainOptions& options, std::stop_token stop, ConfigurationFaults& faults) {
  const CancelScope scope(std::move(stop));
  const PipelineSpec &spec = options.settings.pipeline, &validation = options.validation;
  TrainData data;
  faults.collect([&] { data.training = open_sources(spec); });
  if (data.training) {
    faults.collect([&] { require_labels_to_train(spec, *data.training); });
    faults.collect([&] { check_classes(options.settings.train, *data.training); });
  }
  if (!has_source(validation)) return data;
  faults.collect([&] {
    try {
      data.validation = open_sources(validation);
    } catch (const Error& error) {
      throw Error(error.kind(), std::string("--val: ") + error.what());
    }
  });
  if (data.validation) faults.collect([&] { require_labels_to_train(validation, *data.validation); });
  if (data.training && data.validation) faults.collect([&] { check_equal_classes(*data.training, *data.validation); });
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

void announce_saving(const TrainOptions& options, const std::filesystem::path& resumed) {
  if (!options.announce) return;
  const CheckpointTargets& targets = options.checkpoints;
  if (!targets.any())
    options.announce("nothing of this run is saved; to save it, use --checkpoint-dir DIR or --out FILE");
  else if (!resumed.empty())
    options.announce(fmt::format("resuming from {}; checkpoints are written to {}", resumed.string(),
                                 (targets.folder.empty() ? targets.file : targets.folder).string()));
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

// The phases of the run, which are announced.
ProgressiveRun phases_to_train(const Settings& settings, const TrainOptions& options, const Dataset& dataset) {
  ProgressiveRun run = progressive_run(settings, options.epochs);
  if (run.phases.empty()) return run;
  if (run.phases.size() == 1) {
    emit_notice("progressive settings have no effect: every epoch of this run has the full values");
    return run;
  }
  check_sizes(run.pipeline.operations, run.phases, first_image_size(dataset, settings.pipeline.decode.max_pixels));
  std::vector<std::string> texts;
  for (const TrainPhase& phase : run.phases) texts.push_back(to_text(phase));
  if (options.announce) options.announce(fmt::format("progressive training: {}", fmt::join(texts, "; ")));
  return run;
}

std::string lost_message(const Ranks& ranks, const std::vector<LocalRank>& lost, const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const LocalRank& each : lost) names.push_back(fmt::format("{} (process {})", each.rank, each.process));
  std::string next;
  try {
    next = how_to_continue(folder);
  } catch (const Error& error) {
    next = error.what();
  }
  return fmt::format(
      "training: rank {} ended without an error message, possibly killed for lack of memory; expected {} ranks. {}",
      fmt::join(names, ", "), ranks.world, next);
}

// Watches the other ranks of this machine; null: there are none, or this is not MPI.
std::unique_ptr<RankWatch> watch_ranks(const TrainOptions& options) {
  const Ranks& ranks = options.ranks;
  if (!ranks.mpi || !options.lost_rank) return nullptr;
  std::vector<LocalRank> others;
  std::vector<int> processes;
  for (const LocalRank& each : ranks.mpi->local_ranks()) {
    if (!each.watchable) continue;
    others.push_back(each);
    processes.push_back(each.process);
  }
  if (others.empty()) return nullptr;
  return std::make_unique<RankWatch>(processes, [options, others](const std::vector<std::size_t>& ended) {
    std::vector<LocalRank> lost;
    for (const std::size_t index : ended) lost.push_back(others[index]);
    MpiWorld& mpi = *options.ranks.mpi;
    // The first of the ranks that are left reports, unless a rank has reported why it ends.
    const bool first = std::ranges::none_of(others, [&](const LocalRank& each) {
      return each.rank < options.ranks.rank && std::ranges::find(lost, each.rank, &LocalRank::rank) == lost.end();
    });
    const bool reports = first && !mpi.announced_end();
    if (reports) mpi.announce_end();
    options.lost_rank(reports ? lost_message(options.ranks, lost, options.checkpoints.folder) : "");
  });
}

// This rank reports why it ends.
void announce_end(const Ranks& ranks) {
  if (ranks.mpi) ranks.mpi->announce_end();
}

// Makes the loader of a spec and its data.
using MakeLoader =
    std::function<std::unique_ptr<Loader>(const PipelineSpec&, const std::shared_ptr<const Dataset>&, Loader::Options)>;

// Images on the device may need this share of its free memory.
constexpr double kResidentShare = 0.5;

// On a CPU, ranks of one machine share its memory.
std::uint64_t resident_limit(Trainer& trainer, const Ranks& ranks) {
  const std::size_t device = trainer.free_device_bytes();
  const std::uint64_t free =
      device > 0 ? device : read_machine_facts().memory_available_bytes / static_cast<std::uint64_t>(ranks.sharing);
  return static_cast<std::uint64_t>(kResidentShare * static_cast<double>(free));
}

// The source of the training batches: a loader, or images on the device.
class TrainingSource {
 public:
  explicit TrainingSource(std::unique_ptr<Loader> loader)
      : loaded_(std::make_unique<LoaderSource>(std::move(loader))) {}
  TrainingSource(std::unique_ptr<ResidentSource> resident, double seconds)
      : resident_(std::move(resident)), seconds_(seconds) {}

  [[nodiscard]] BatchSource& batches() const {
    return resident_ ? static_cast<BatchSource&>(*resident_) : static_cast<BatchSource&>(*loaded_);
  }
  [[nodiscard]] RankProgress progress() const {
    return resident_ ? resident_->progress() : loaded_->loader().progress();
  }
  // Threads of the loader; 0: none.
  [[nodiscard]] int threads() const { return resident_ ? 0 : loaded_->loader().threads(); }
  // Images on the device never have a bad sample.
  [[nodiscard]] std::vector<BadSample> bad_samples(std::size_t most) const {
    return resident_ ? std::vector<BadSample>() : loaded_->loader().bad_samples(most);
  }
  [[nodiscard]] std::optional<ResidentImages> images() const {
    if (!resident_) return {};
    return ResidentImages{resident_->images(), resident_->bytes(), seconds_};
  }

 private:
  std::unique_ptr<LoaderSource> loaded_;
  std::unique_ptr<ResidentSource> resident_;
  double seconds_ = 0;
};

struct SourceNeeds {
  const TrainOptions& options;
  const ResumePosition& position;
  const std::shared_ptr<const Dataset>& dataset;
  Consumer consumer;
  const MakeLoader& make_loader;
};

TrainingSource resident_source(Trainer& trainer, const SourceNeeds& needs, std::stop_token stop) {
  const std::int64_t begin_ns = steady_clock().now_ns();
  const PipelineSpec images = resident_images_of(needs.position.pipeline);
  const auto samples = samples_of_sources(images, *needs.dataset, read_topology().usable());
  const auto loader = needs.make_loader(images, needs.dataset, {{}, 1, false, {samples, {}, {}}});
  auto source = std::make_unique<ResidentSource>(
      trainer, ResidentSource::Run{needs.position.pipeline, needs.position.basis, needs.position.start}, *loader,
      resident_limit(trainer, needs.options.ranks), std::move(stop));
  const double seconds = static_cast<double>(steady_clock().now_ns() - begin_ns) * 1e-9;
  if (needs.options.announce)
    needs.options.announce(fmt::format("resident: {} images, {:.1f} MB on the device, decoded in {:.1f} s",
                                       source->images(), 1e-6 * static_cast<double>(source->bytes()), seconds));
  return {std::move(source), seconds};
}

TrainingSource training_source(Trainer& trainer, const SourceNeeds& needs, std::stop_token stop) {
  const Residence resident = needs.options.settings.train.resident;
  std::string reason = resident == Residence::kOff ? "off" : why_not_resident(needs.position.pipeline);
  if (reason.empty()) {
    try {
      return resident_source(trainer, needs, std::move(stop));
    } catch (const Error& error) {
      if (resident == Residence::kOn && error.kind() == ErrorKind::kMemory)
        throw Error(error.kind(), fmt::format("{}, half of the free memory. Use resident: off", error.what()));
      // With auto, the loader reports faults of the data.
      if (resident == Residence::kOn || error.kind() == ErrorKind::kCancelled) throw;
      reason = error.what();
    }
  }
  if (resident == Residence::kAuto)
    emit_notice(fmt::format("train.resident: auto: a loader makes the batches: {}", reason));
  return TrainingSource(needs.make_loader(needs.position.pipeline, needs.dataset,
                                          {needs.position.start, 0, false, needs.position.basis, needs.consumer}));
}

// MPI ends in order only if all ranks do.
void finish_ranks(const Ranks& ranks) {
  if (ranks.mpi) ranks.mpi->finish();
}

TrainResult train_rank(const TrainOptions& options, const Progress& progress, std::stop_token stop) {
  const std::int64_t begin_ns = steady_clock().now_ns();
  ConfigurationFaults faults;
  faults.collect([&] { check_run(options.settings, options.epochs, options.minutes); });
  faults.collect([&] { check_allocator(options.settings.host); });
  faults.collect([&] {
    if (options.target > 0 && !has_source(options.validation))
      throw Error(ErrorKind::kArgument,
                  "train: found a target accuracy but no validation data; expected both. Pass --val");
  });
  std::filesystem::path resumed;
  faults.collect([&] { resumed = file_to_resume(options); });
  std::unique_ptr<Device> device;
  faults.collect([&] { device = open_device(options.settings.train.device); });
  const TrainData data = open_data(options, stop, faults);
  faults.throw_if_any();
  const Settings settings = settings_of_rank(options);
  notify_done_on_host(settings.pipeline);
  if (data.validation) notify_unused(options.validation);
  const auto& dataset = data.training;
  const auto& validation = data.validation;
  const ProgressiveRun run = phases_to_train(settings, options, *dataset);
  // Launchers bind ranks to cores themselves.
  const std::unique_ptr<CpuSplit> split = options.ranks.several() ? nullptr : make_cpu_split(settings);
  if (options.ranks.several() && settings.host.affinity != Affinity::kNone)
    emit_notice("host.affinity: ignored with several ranks; the launcher binds them to cores");
  const MakeLoader make_loader = [&](const PipelineSpec& spec, const std::shared_ptr<const Dataset>& of,
                                     Loader::Options loading) {
    const CpuSplit::LoaderScope cpus(split.get());
    return std::make_unique<Loader>(spec, of, *device, std::move(loading));
  };
  const auto trainer = make_trainer(settings.train, options.ranks);

  TrainPlan plan;
  plan.minutes = options.minutes;
  plan.checkpoints = options.checkpoints;
  plan.checkpoint_seconds = options.checkpoint_seconds;
  plan.notice = [](const std::string& text) { emit_notice(text); };
  plan.rank = options.ranks.rank;
  plan.world = options.ranks.world;
  TrainProgress done;
  if (!resumed.empty()) done = restore_checkpoint(*trainer, resumed);
  if (!options.weights.empty()) load_starting_weights(*trainer, options.weights);
  const ResumePosition position = resume_position_in(
      run.pipeline, *dataset, {choose_samples(run.pipeline, *dataset, read_topology().usable()), {}, run.shares}, done,
      resumed.string());
  const std::int64_t per_epoch = position.epoch_steps.full();
  const Consumer consumer = device->is_host() ? Consumer::kHost : Consumer::kNormalises;
  const TrainingSource source = training_source(*trainer, {options, position, dataset, consumer, make_loader}, stop);
  plan.start_step = done.step;
  if (const auto images = source.images()) plan.waited_seconds = images->seconds;
  plan.first_step = position.first_step;
  plan.epoch_steps = position.epoch_steps;
  plan.resume_state = [&] { return position.state(source.progress()); };
  if (options.epochs > 0) plan.steps = position.steps_of(options.epochs);
  plan.target = options.target;
  plan.evaluate_every = std::llround(options.evaluate_every * static_cast<double>(per_epoch));
  plan.report_every = std::clamp<std::int64_t>(per_epoch / 10, 1, 50);
  if (validation) {
    const PipelineSpec spec = validation_spec(settings, options.validation);
    const OrderBasis basis{samples_of_sources(spec, *validation, read_topology().usable()), {}};
    plan.validation_batches = static_cast<std::int64_t>(Order(spec.order, spec.batch, basis).batches_per_epoch());
    plan.validation = [spec, validation, basis, &make_loader, consumer] {
      return std::make_unique<LoaderSource>(make_loader(spec, validation, {{}, 1, false, basis, consumer}),
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
  result.data = name_of_sources(settings.pipeline);
  result.settings.pipeline.execution.threads = source.threads();
  const auto list_bad = [&] {
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    if (!options.quarantine.empty()) write_quarantine(options.quarantine, source.bad_samples(kAll));
  };
  announce_saving(options, resumed);
  result.device_name = device->name();
  result.preparation_seconds = static_cast<double>(steady_clock().now_ns() - begin_ns) * 1e-9 - plan.waited_seconds;
  if (options.begin) options.begin();
  try {
    plan.stop = stop;
    result.history = run_training(*trainer, settings.train, source.batches(), plan);
    if (events) events->finish(result.history);
    if (traces) write_file_atomically(options.trace, nlohmann::json{{"traceEvents", trace}}.dump());
  } catch (...) {
    list_bad();
    throw;
  }
  list_bad();
  result.epochs = position.epochs_at(result.history.steps);
  for (const EvaluationPoint& point : result.history.evaluations)
    result.evaluated_epochs.push_back(position.epochs_at(point.step));
  result.phases = times_of(run.phases, result.history, position.epoch_steps);
  result.effect = effect_of(result.phases, settings.train.image_size);
  result.parameters = trainer->parameters();
  result.macs = trainer->macs();
  result.target = options.target;
  result.price_per_hour = options.price_per_hour;
  result.ranks = options.ranks.world;
  result.exchange = trainer->exchange_times();
  result.resident = source.images();
  result.bad = source.bad_samples(1000);
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
  std::unique_ptr<RankWatch> watch = watch_ranks(options);
  try {
    TrainResult result = train_rank(options, ranks.first() ? progress : Progress(), std::move(stop));
    watch.reset();  // from here on ranks end in order
    finish_ranks(ranks);
    return result;
  } catch (const Error& error) {
    watch.reset();
    if (error.kind() == ErrorKind::kCancelled && !std::string_view(error.what()).empty())
      finish_ranks(ranks);
    else
      announce_end(ranks);
    throw;
  } catch (...) {
    announce_end(ranks);
    throw;
  }
}

}  // namespace unstarve
