#include "unstarve/jobs/compress/int8_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/engines/engine_table.h"
#include "unstarve/infer/int8/quantise.h"
#include "unstarve/observe/machine.h"

namespace unstarve {
namespace {

// Runs of a profile: the median of 20 is stable within some per cent.
constexpr int kProfileRuns = 20;
// Trials of the number of layers that return to float32.
constexpr int kMostTrials = 8;

std::string text_of_bits(int weight_bits) {
  return weight_bits == 8 ? "" : fmt::format(", weights of {} bits", weight_bits);
}

std::string description(const infer::QuantiseOptions& how, std::size_t all, int equalised) {
  return fmt::format("{} of {} layers, limits by {}{}{}", how.layers.size(), all, infer::name_of(how.method),
                     text_of_bits(how.form.weight_bits),
                     equalised > 0 ? fmt::format(", equalised channels of {} activations", equalised) : "");
}

// Of the outputs of `graph` from `expected`, which are those of the best model; infinite if the engine cannot run it.
double divergence_from(const std::vector<float>& expected, const infer::Graph& graph, StepLedger& ledger) {
  try {
    Trial trial(graph, ledger.best().engine(), ledger.best().settings(), ledger.options().program);
    return mean_divergence(expected, ledger.accuracy().outputs(trial), ledger.accuracy().classes());
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    return std::numeric_limits<double>::infinity();
  }
}

// To try in the engine, the most exact one first; overflowing sums make it worse than the next.
std::vector<infer::Int8Form> forms_for(const std::string& engine) {
  if (engine == kGpuEngine) return {{8, true}};
  if (sums_may_overflow()) return {{8}, {7}};
  return {{8}};
}

// With the limits of training; nullopt: reverted.
std::optional<Int8Steps> propose_trained(StepLedger& ledger, const infer::Graph& graph, std::size_t layers,
                                         const Progress& progress) {
  if (progress) progress("int8: limits of the training", 0);
  const std::vector<infer::Int8Form> forms = forms_for(ledger.best().engine());
  infer::Int8Form form = forms.front();
  if (forms.size() > 1) {
    const std::vector<float> expected = ledger.accuracy().outputs(ledger.best());
    form = *std::ranges::min_element(forms, {}, [&](const infer::Int8Form& each) {
      return divergence_from(expected, infer::quantise(graph, each), ledger);
    });
  }
  const CompressStep& step = ledger.propose("int8", "limits of the training" + text_of_bits(form.weight_bits), [&] {
    Proposal proposal = ledger.with_graph(infer::quantise(graph, form));
    proposal.int8 = true;
    return proposal;
  });
  if (step.state != StepState::kKept) return std::nullopt;
  Int8Steps result{layers};
  if (form.weight_bits == 8) result.seven_bits = infer::quantise(graph, {7});
  return result;
}

class Int8Proposals {
 public:
  // `equalised`: the same graph after equalisation, if that changes it.
  Int8Proposals(StepLedger& ledger, CalibratedGraph original, std::optional<CalibratedGraph> equalised,
                const CalibrationOptions& options)
      : ledger_(ledger), from_(std::move(original)), equalised_(std::move(equalised)), options_(options) {}

  Int8Steps run(const std::vector<std::size_t>& layers) {
    layers_ = layers;
    const infer::QuantiseOptions how = closest();
    const CompressStep& step = propose("int8", how);
    const bool is_inaccurate = step.loss && step.loss->share > ledger_.options().max_accuracy_loss;
    if (is_inaccurate && layers.size() > 1) fewer_layers(how);
    Int8Steps result{layers.size()};
    if (!kept_ || kept_->form.weight_bits != 8) return result;
    kept_->form.weight_bits = 7;
    result.seven_bits = quantised(*kept_);
    return result;
  }

 private:
  const CompressStep& propose(const char* name, const infer::QuantiseOptions& how) {
    report(name);
    const CompressStep& step = ledger_.propose(name, description(how, layers_.size(), from_.equalised), [&] {
      Proposal proposal = ledger_.with_graph(quantised(how));
      proposal.int8 = true;
      return proposal;
    });
    if (step.state == StepState::kKept) kept_ = how;
    return step;
  }

  [[nodiscard]] infer::Graph quantised(const infer::QuantiseOptions& how) const {
    return infer::quantise(from_.graph, from_.calibration, how);
  }

  // All layers, by the method, bits and graph with the least divergence.
  infer::QuantiseOptions closest() {
    expected_ = ledger_.accuracy().outputs(ledger_.best());
    infer::QuantiseOptions best;
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](infer::QuantiseOptions how) {
      report(fmt::format("int8: limits by {}", infer::name_of(how.method)));
      how.layers = layers_;
      const double found = divergence(how);
      if (best.layers.empty() || found < least) least = found, best = std::move(how);
    };
    const std::vector<infer::Int8Form> forms = forms_for(ledger_.best().engine());
    for (const infer::CalibrationMethod method : infer::kCalibrationMethods)
      consider({.method = method, .form = forms.front()});
    for (std::size_t i = 1; i < forms.size(); ++i) consider({.method = best.method, .form = forms[i]});
    if (equalised_) {
      report("int8: equalised channels");
      std::swap(from_, *equalised_);
      if (divergence(best) >= least) std::swap(from_, *equalised_);
      equalised_.reset();
    }
    return best;
  }

  double divergence(const infer::QuantiseOptions& how) { return divergence_from(expected_, quantised(how), ledger_); }

  // The time of each layer's part of the model, in ms, by the name of the layer's result.
  std::map<std::string, double> layer_times(Trial& trial) {
    std::map<std::string, double> times;
    for (const LayerTime& part : trial.process().profile(kProfileRuns))
      for (const std::string& node : part.nodes) times[node] = part.ms;
    return times;
  }

  std::vector<LayerCost> layer_costs(const infer::QuantiseOptions& all) {
    std::map<std::string, double> float_ms, int8_ms;
    {
      Trial float32(from_.graph, ledger_.best().engine(), ledger_.best().settings(), ledger_.options().program);
      Trial int8(quantised(all), ledger_.best().engine(), ledger_.best().settings(), ledger_.options().program);
      float_ms = layer_times(float32);
      int8_ms = layer_times(int8);
    }
    std::vector<LayerCost> costs;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      report(fmt::format("int8: the error of layer {} of {}", i + 1, layers_.size()));
      const std::string& name = from_.graph.value(from_.graph.nodes[layers_[i]].output).name;
      infer::QuantiseOptions alone = all;
      alone.layers = {layers_[i]};
      // Without reported times, all layers save the same.
      const bool timed = float_ms.contains(name) && int8_ms.contains(name);
      costs.push_back({layers_[i], timed ? float_ms[name] - int8_ms[name] : 1, divergence(alone)});
    }
    return costs;
  }

  // Finds the least number of layers in float32 with which the accuracy is within the bound.
  void fewer_layers(const infer::QuantiseOptions& all) {
    const std::vector<std::size_t> order = order_of_return(layer_costs(all));
    const auto without = [&](std::size_t count) {
      infer::QuantiseOptions how = all;
      how.layers.assign(order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
      std::ranges::sort(how.layers);
      return how;
    };
    const std::optional<std::size_t> count = least_accurate(order.size() - 1, [&](std::size_t each) {
      report(fmt::format("int8: {} of {} layers in float32", each, order.size()));
      return is_accurate(without(each));
    });
    if (count)
      propose("int8 layers", without(*count));
    else
      ledger_.skip("int8 layers", "no number of layers in float32 that was tried is accurate enough");
  }

  bool is_accurate(const infer::QuantiseOptions& how) {
    Trial trial(quantised(how), ledger_.best().engine(), ledger_.best().settings(), ledger_.options().program);
    const std::vector<bool> right = ledger_.accuracy().right(trial);
    return accuracy_loss(ledger_.accuracy().original_right(), right).share <= ledger_.options().max_accuracy_loss;
  }

  void report(const std::string& what) const {
    if (options_.stop.stop_requested()) throw Error(ErrorKind::kCancelled, "compress: stopped");
    if (options_.progress) options_.progress(what, 0);
  }

  StepLedger& ledger_;
  CalibratedGraph from_;
  std::optional<CalibratedGraph> equalised_;
  const CalibrationOptions& options_;
  std::vector<std::size_t> layers_;
  std::vector<float> expected_;  // outputs of the best model before
  std::optional<infer::QuantiseOptions> kept_;
};

}  // namespace

std::vector<std::size_t> order_of_return(std::vector<LayerCost> costs) {
  std::ranges::stable_sort(costs, [](const LayerCost& a, const LayerCost& b) {
    if (a.saved_ms <= 0 || b.saved_ms <= 0) return a.saved_ms <= 0 && b.saved_ms > 0;
    return a.divergence * b.saved_ms > b.divergence * a.saved_ms;
  });
  std::vector<std::size_t> layers;
  for (const LayerCost& cost : costs) layers.push_back(cost.layer);
  return layers;
}

std::optional<std::size_t> least_accurate(std::size_t most, const std::function<bool(std::size_t)>& is_accurate) {
  std::size_t bad = 0, good = most + 1;
  for (int trial = 0; trial < kMostTrials && good - bad > 1; ++trial) {
    const std::size_t middle = bad + (good - bad) / 2;
    const std::size_t count = good <= most ? middle : std::max<std::size_t>(1, std::min(2 * bad, middle));
    (is_accurate(count) ? good : bad) = count;
  }
  return good <= most ? std::optional(good) : std::nullopt;
}

bool sums_may_overflow() {
  if (const char* vnni = std::getenv("UNSTARVE_VNNI")) return std::string_view(vnni) != "1";
  return int8_sums_may_overflow(read_machine_facts());
}

Int8Steps propose_int8(StepLedger& ledger, const infer::Graph& graph, const EvaluationImages& images,
                       const CalibrationOptions& options) {
  const std::vector<std::size_t> layers = infer::quantisable_layers(graph);
  if (layers.empty()) {
    ledger.skip("int8", "the model has no Conv, Gemm or MatMul with constant float32 weights");
    return {};
  }
  if (!graph.limits.empty())
    if (std::optional<Int8Steps> trained = propose_trained(ledger, graph, layers.size(), options.progress))
      return *trained;
  CalibratedGraph original{graph, calibrate(graph, layers, images, options)};
  auto equalised = calibrate_equalised(graph, original.calibration, layers, images, options);
  return Int8Proposals(ledger, std::move(original), std::move(equalised), options).run(layers);
}

void propose_int8_weights(StepLedger& ledger) {
  infer::Graph graph = ledger.best().graph();
  if (std::ranges::find(graph.nodes, infer::OpKind::kQuantizeLinear, &infer::Node::kind) != graph.nodes.end()) return;
  const std::vector<std::size_t> layers = infer::linear_layers(graph);
  if (layers.empty()) return;
  ledger.propose("int8 weights", fmt::format("{} linear layer{}", layers.size(), layers.size() == 1 ? "" : "s"),
                 [&] { return ledger.with_graph(infer::quantise_weights(std::move(graph), layers)); });
}

}  // namespace unstarve
