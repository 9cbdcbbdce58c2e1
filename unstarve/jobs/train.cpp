#include "unstarve/jobs/train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/machine/cpu_split.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/data/quarantine.h"
#include "unstarve/jobs/host/start_environment.h"
#include "unstarve/jobs/tensorboard/training_events.h"
#include "unstarve/jobs/training/bad_samples.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/jobs/training/evaluation_source.h"
#include "unstarve/jobs/training/lost_ranks.h"
#include "unstarve/jobs/training/progressive_run.h"
#include "unstarve/jobs/training/resume_position.h"
#include "unstarve/jobs/training/step_trace.h"
#include "unstarve/jobs/training/train_data.h"
#include "unstarve/jobs/training/training_source.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/train/loop.h"

namespace unstarve {
namespace {

constexpr std::size_t kMostShown = 1000;  // bad samples of a result

// The file of --resume; "": none.
std::filesystem::path file_to_resume(const TrainOptions& options) {
  const std::filesystem::path file = checkpoint_to_resume(options.checkpoints.folder, options.resume);
  if (!options.resume.empty() && !options.weights.empty())
    throw Error(ErrorKind::kArgument, "train: found --resume and --weights; expected one of them");
  if (options.settings.train.prune.channels() && file.empty() && options.weights.empty())
    throw Error(ErrorKind::kArgument,
                "train.prune.pattern: found channels without weights; expected trained weights, whose least important "
                "channels are removed. Pass --weights, or --resume for a run that has begun");
  return file;
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
ProgressiveRun phases_to_train(const Settings& settings, const TrainOptions& options) {
  ProgressiveRun run = progressive_run(settings, options.epochs);
  if (run.phases.empty()) return run;
  if (run.phases.size() == 1) {
    emit_notice("progressive settings have no effect: every epoch of this run has the full values");
    return run;
  }
  std::vector<std::string> texts;
  for (const TrainPhase& phase : run.phases) texts.push_back(to_text(phase));
  if (options.announce) options.announce(fmt::format("progressive training: {}", fmt::join(texts, "; ")));
  return run;
}

// Launchers bind ranks to cores themselves.
std::unique_ptr<CpuSplit> split_of_rank(const Settings& settings, const Ranks& ranks) {
  return ranks.several() ? nullptr : make_cpu_split(settings);
}

// What a run works on: its data, its device, and the checkpoint that it resumes; "": none.
struct OpenedRun {
  TrainData data;
  std::unique_ptr<Device> device;
  std::filesystem::path resumed;
};

// Lists all faults of the options together.
OpenedRun open_run(const TrainOptions& options, std::stop_token stop) {
  OpenedRun run;
  ConfigurationFaults faults = options.faults;
  const bool runs = faults.collect([&] { check_run(options.settings, options.epochs, options.minutes); });
  faults.collect([&] { check_allocator(options.settings.host); });
  faults.collect([&] { (void)split_of_rank(options.settings, options.ranks); });
  faults.collect([&] {
    if (options.target > 0 && !has_source(options.validation))
      throw Error(ErrorKind::kArgument,
                  "train: found a target accuracy but no validation data; expected --val DATA too");
  });
  faults.collect([&] {
    run.resumed = file_to_resume(options);
    // Whether its tensors fit is known when there is a trainer.
    const auto& file = run.resumed.empty() ? options.weights : run.resumed;
    if (!file.empty()) const MappedFile readable(file);
  });
  faults.collect([&] { run.device = open_device(device_of_rank(options.settings.train.device, options.ranks)); });
  run.data = open_train_data({options.settings.pipeline, options.validation, options.settings.train.classes},
                             std::move(stop), faults);
  if (run.data.training && (runs || !options.settings.train.progressive.any()))
    faults.collect([&] {
      const Size input = first_image_size(*run.data.training, options.settings.pipeline.decode.max_pixels);
      check_image_size(options.settings, options.epochs, input);
    });
  faults.throw_if_any();
  return run;
}

// The part of the plan that only depends on the options.
TrainPlan plan_of(const TrainOptions& options, const std::filesystem::path& resumed) {
  TrainPlan plan;
  plan.minutes = options.minutes;
  plan.target = options.target;
  plan.checkpoints = options.checkpoints;
  plan.checkpoints.resumed = resumed;
  plan.checkpoint_seconds = options.checkpoint_seconds;
  plan.notice = [](const std::string& text) { emit_notice(text); };
  plan.rank = options.ranks.rank;
  plan.world = options.ranks.world;
  return plan;
}

void set_steps(TrainPlan& plan, const TrainOptions& options, const ResumePosition& position, std::int64_t done) {
  const std::int64_t per_epoch = position.epoch_steps.full();
  plan.start_step = done;
  plan.first_step = position.first_step;
  plan.epoch_steps = position.epoch_steps;
  if (options.epochs > 0) plan.steps = position.steps_of(options.epochs);
  if (options.evaluate_every > 0)
    plan.evaluate_every =
        std::max<std::int64_t>(std::llround(options.evaluate_every * static_cast<double>(per_epoch)), 1);
  plan.report_every = std::clamp<std::int64_t>(per_epoch / 10, 1, 50);
}

// `make` and `bad` must outlive the plan.
void set_validation(TrainPlan& plan, const PipelineSpec& spec, const std::shared_ptr<const Dataset>& dataset,
                    const MakeLoader& make, Consumer consumer, BadSamples& bad) {
  const OrderBasis basis{samples_of_sources(spec, *dataset), {}};
  plan.validation_batches = static_cast<std::int64_t>(Order(spec.order, spec.batch, basis).batches_per_epoch());
  plan.validation = [spec, dataset, basis, &make, consumer, &bad] {
    return std::make_unique<EvaluationSource>(
        make(spec, dataset, {.epochs = 1, .basis = basis, .consumer = consumer, .uneven = true}), bad);
  };
}

void show_progress(const TrainHistory& history, const TrainPlan& plan, double epochs, const Progress& progress) {
  const TrainPoint& point = history.points.back();
  const double by_time = plan.minutes > 0 ? point.seconds / (60 * plan.minutes) : 0;
  const double by_steps = plan.steps > 0 ? static_cast<double>(point.step) / static_cast<double>(plan.steps) : 0;
  progress(fmt::format("epoch {:.1f}  loss {:.3f}  {:.0f} images/s  waiting {:.0f} %{}", epochs, point.loss,
                       point.samples_per_s, 100 * point.wait_share,
                       history.evaluations.empty()
                           ? ""
                           : fmt::format("  accuracy {:.1f} %", 100 * history.evaluations.back().accuracy)),
           std::max(by_time, by_steps));
}

// A trainer with the weights of the checkpoint or of --weights.
struct StartedTrainer {
  std::unique_ptr<Trainer> trainer;
  TrainProgress done;
  bool removes_channels = false;  // before the first step
};

StartedTrainer start_trainer(const TrainSettings& settings, const TrainOptions& options,
                             const std::filesystem::path& resumed) {
  const StartingFile start{resumed.empty() ? options.weights : resumed, !resumed.empty()};
  StartedTrainer started{make_trainer(settings, options.ranks, start), {}, settings.prune.channels() && !start.resumes};
  if (!resumed.empty()) started.done = restore_checkpoint(*started.trainer, resumed);
  if (!options.weights.empty() && !started.removes_channels) load_starting_weights(*started.trainer, options.weights);
  return started;
}

// An output that cannot be written hides neither the result of a run nor its error.
template <class Write>
void notice_failure(const Write& write) {
  try {
    write();
  } catch (const Error& error) {
    emit_notice(fmt::format("train: {}", error.what()));
  }
}

// What the first rank writes about the steps: --trace and --tensorboard.
class StepOutputs {
 public:
  StepOutputs(const TrainOptions& options, std::int64_t start_step) {
    if (!options.ranks.first()) return;
    trace_file_ = options.trace;
    if (!options.tensorboard.empty()) events_.emplace(options.tensorboard, start_step);
  }

  // `plan` must not be used after this object is destroyed.
  void trace_steps(TrainPlan& plan) {
    if (!trace_file_.empty()) plan.trace = [this](const TracedStep& step) { trace_.push_back(step); };
  }
  void update(const TrainHistory& history) {
    if (events_) events_->update(history);
  }
  void finish(const TrainHistory& history) {
    if (events_) events_->finish(history);
    if (!trace_file_.empty()) notice_failure([&] { write_file_atomically(trace_file_, step_trace(trace_)); });
  }
  // After an error: the charts up to the latest report.
  void finish_early() {
    if (events_) events_->finish_early();
  }

 private:
  std::filesystem::path trace_file_;
  std::vector<TracedStep> trace_;
  std::optional<TrainingEvents> events_;
};

// The list of a rank that failed, as the first rank cannot have those of the others.
std::filesystem::path quarantine_of_rank(const TrainOptions& options) {
  if (options.ranks.first()) return options.quarantine;
  return fmt::format("{}.rank-{}", options.quarantine.string(), options.ranks.rank);
}

// Adds what follows from the history.
void add_results(TrainResult& result, const TrainOptions& options, const ProgressiveRun& run,
                 const ResumePosition& position, Trainer& trainer) {
  result.epochs = position.epochs_at(result.history.steps);
  for (const EvaluationPoint& point : result.history.evaluations)
    result.evaluated_epochs.push_back(position.epochs_at(point.step));
  result.phases = times_of(run.phases, result.history, position.epoch_steps);
  result.effect = effect_of(result.phases, result.settings.train.image_size);
  result.parameters = trainer.parameters();
  result.macs = trainer.macs();
  result.target = options.target;
  result.price_per_hour = options.price_per_hour;
  result.ranks = options.ranks.world;
  result.exchange = trainer.exchange_times();
}

TrainResult train_rank(const TrainOptions& options, const Progress& progress, std::stop_token stop) {
  const std::int64_t begin_ns = steady_clock().now_ns();
  const auto [data, device, resumed] = open_run(options, stop);
  const Settings settings = settings_of_rank(options);
  notify_done_on_host(settings.pipeline);
  if (data.validation) notify_ignored(options.validation);
  const auto& dataset = data.training;
  const ProgressiveRun run = phases_to_train(settings, options);
  if (options.ranks.several() && settings.host.affinity != Affinity::kNone)
    emit_notice("host.affinity: ignored with several ranks; the launcher binds them to cores");
  const std::unique_ptr<CpuSplit> split = split_of_rank(settings, options.ranks);
  const MakeLoader make_loader = [&split, &to = *device](const PipelineSpec& spec,
                                                         const std::shared_ptr<const Dataset>& of,
                                                         Loader::Options loading) {
    const CpuSplit::LoaderScope cpus(split.get());
    return std::make_unique<Loader>(spec, of, to, std::move(loading));
  };
  const auto [trainer, done, removes_channels] = start_trainer(settings.train, options, resumed);
  const ResumePosition position = resume_position_in(
      run.pipeline, *dataset, {choose_samples(run.pipeline, *dataset, 0), {}, run.shares}, done, resumed.string());
  const Consumer consumer = device->is_host() ? Consumer::kHost : Consumer::kNormalises;
  const TrainingSource source = training_source(
      *trainer, {settings.train.resident, options.ranks, position, dataset, consumer, make_loader, options.announce},
      stop);

  TrainPlan plan = plan_of(options, resumed);
  set_steps(plan, options, position, done.step);
  if (const auto images = source.images()) plan.waited_seconds = images->seconds;
  plan.data_position = [&] { return [&position, progress = source.progress()] { return position.state(progress); }; };
  plan.normalisation = run.pipeline.output.normalisation;
  BadSamples bad;
  if (data.validation)
    set_validation(plan, validation_spec(settings, options.validation), data.validation, make_loader, consumer, bad);
  StepOutputs outputs(options, plan.start_step);
  outputs.trace_steps(plan);
  plan.report = [&](const TrainHistory& history) {
    outputs.update(history);
    if (progress && !history.points.empty())
      show_progress(history, plan, position.epochs_at(history.points.back().step), progress);
  };

  TrainResult result;
  result.settings = settings;
  result.data = name_of_sources(settings.pipeline);
  result.settings.pipeline.execution.threads = source.threads();
  const auto list_bad = [&](const std::filesystem::path& path) {
    if (!options.quarantine.empty()) notice_failure([&] { write_quarantine(path, bad.list()); });
  };
  const auto add_bad = [&] {
    bad.add(BadSamples::Of::kTraining, source.bad_samples(std::numeric_limits<std::size_t>::max()));
  };
  announce_saving(options, resumed);
  if (!resumed.empty() && (options.target > 0 || options.price_per_hour > 0))
    emit_notice("train: time and cost count from the resumed checkpoint on");
  trainer->warm_up(run.pipeline.batch.size,
                   run.phases.empty() ? settings.train.image_size : run.phases.front().values.image_size);
  result.device_name = device->name();
  result.preparation_seconds = static_cast<double>(steady_clock().now_ns() - begin_ns) * 1e-9 - plan.waited_seconds;
  if (options.begin) options.begin();
  try {
    plan.stop = stop;
    result.history = run_training(*trainer, settings.train, source.batches(), plan);
    outputs.finish(result.history);
  } catch (...) {
    outputs.finish_early();
    add_bad();
    list_bad(quarantine_of_rank(options));
    throw;
  }
  add_bad();
  const bool noticed = !bad.empty(BadSamples::Of::kValidation);
  notice_failure([&, &of = *trainer, &both = data] { bad.gather(of, options.ranks, both); });
  if (!noticed && !bad.empty(BadSamples::Of::kValidation))
    emit_notice("evaluation leaves out samples of other ranks that cannot be read");  // here only rank 0 emits notices
  if (options.ranks.first()) list_bad(options.quarantine);
  add_results(result, options, run, position, *trainer);
  const bool prunes = removes_channels || (settings.train.prune.any() && !settings.train.prune.channels());
  if (prunes && options.ranks.first()) result.pruning = trainer->pruning();
  result.resident = source.images();
  result.bad = bad.list();
  if (result.bad.size() > kMostShown) result.bad.resize(kMostShown);
  return result;
}

}  // namespace

void load_starting_weights(Trainer& trainer, const std::filesystem::path& path) {
  const LoadedWeights weights = trainer.load_weights(path);
  if (!weights.initialised.empty())
    emit_notice(fmt::format("weights {}: loaded {} tensors; initialised, because the file has other classes: {}",
                            path.string(), weights.loaded, fmt::join(weights.initialised, ", ")));
}

TrainResult run_train(const TrainOptions& options, const Progress& progress, std::stop_token stop) {
  const Ranks& ranks = options.ranks;
  std::unique_ptr<RankWatch> watch = watch_ranks(ranks, options.lost_rank, options.checkpoints.folder);
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
