#include "unstarve/jobs/inference/export_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/infer/engines/choose_engine.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/int8/quantise.h"
#include "unstarve/infer/onnx/onnx_fields.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/pruned_channels.h"
#include "unstarve/jobs/inference/first_engine.h"
#include "unstarve/jobs/inference/graph_file.h"
#include "unstarve/jobs/inference/model_fit.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/machine.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// The passes that `list` does not switch off.
std::vector<infer::Pass> export_passes(const std::string& list) {
  std::map<std::string_view, bool> switches;
  std::vector<std::string_view> names;
  for (const infer::Pass& pass : infer::pass_table()) {
    switches[pass.name] = true;
    names.push_back(pass.name);
  }
  for (std::string_view left = list; !left.empty();) {
    const std::string_view word = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), word.size() + 1));
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto found = switches.find(word.substr(0, equals));
    const std::string_view value = word.substr(equals);
    if (found == switches.end() || (value != "=on" && value != "=off"))
      throw Error(ErrorKind::kArgument,
                  fmt::format("--passes: found \"{}\"; expected NAME=on or NAME=off, where NAME is "
                              "one of {}",
                              word, fmt::join(names, ", ")));
    found->second = value == "=on";
  }
  std::vector<infer::Pass> passes;
  for (const infer::Pass& pass : infer::pass_table())
    if (switches[pass.name]) passes.push_back(pass);
  return passes;
}

void check_export_file(const ExportOptions& options) {
  const auto fail = [&](const std::string& expected) {
    return Error(ErrorKind::kArgument, fmt::format("--out: found {}; expected {}", options.out.string(), expected));
  };
  if (options.out.extension() != ".onnx") throw fail("the name of an ONNX file, for example model.onnx");
  std::error_code ignored;  // of a file that does not exist
  if (fs::equivalent(options.out, options.model, ignored)) throw fail("another file than the model itself");
}

// Compiles the graph by the first engine that reports its kernels, for a batch of 1.
void count_int8_kernels(const infer::Graph& graph, const CalibrationOptions& options, Int8Result& result) {
  const GraphFile file(graph);
  const std::unique_ptr<EngineProcess> engine = first_engine(options.engine, options.program, file.path());
  const std::vector<std::int64_t> shape = sample_shape("export " + graph.name, engine->model(), 0);
  engine->compile({1, 1, std::max(1, fixed_batch(engine->model()))}, shape, 1);
  result.engine = engine->name();
  result.compiled = engine->compiled();
  for (const auto& [kernel, layers] : result.compiled.kernels)
    if (is_int8_kernel(kernel)) result.int8_kernels += layers;
}

bool may_overflow(const infer::Int8Form& form) {
  return form.weight_bits == 8 && int8_sums_may_overflow(read_machine_facts());
}

Int8Result quantise_graph(infer::Graph& graph, const Int8Options& options, const infer::Int8Form& form,
                          const Progress& progress, const std::stop_token& stop) {
  infer::QuantiseOptions how;
  how.layers = infer::quantisable_layers(graph);
  how.method = options.method;
  how.form = form;
  if (how.layers.empty())
    throw Error(ErrorKind::kInput,
                fmt::format("export {}: found no Conv, Gemm or MatMul with constant float32 weights; "
                            "expected at least one for --int8",
                            graph.name));
  CalibrationOptions calibrating = options.calibration;
  calibrating.progress = progress;
  calibrating.stop = stop;
  const EvaluationImages images = open_images(options.data, graph.normalisation);
  CalibratedGraph from{graph, calibrate(graph, how.layers, images, calibrating)};
  if (auto equalised = calibrate_equalised(graph, from.calibration, how.layers, images, calibrating))
    from = std::move(*equalised);
  graph = infer::quantise(std::move(from.graph), from.calibration, how);
  if (const std::string wrong = infer::violation(graph); !wrong.empty())
    throw Error(ErrorKind::kInternal, "quantise: " + wrong);
  Int8Result result{how.layers.size(), from.calibration.images(), from.equalised};
  result.may_overflow = may_overflow(form);
  count_int8_kernels(graph, options.calibration, result);
  if (result.int8_kernels == 0 && !result.compiled.kernels.empty())
    throw Error(ErrorKind::kInput,
                fmt::format("export {}: engine {} computes none of the {} quantised layers in int8; expected at least "
                            "one. Export without --int8",
                            graph.name, result.engine, result.layers));
  return result;
}

// By the limits that the model was trained with.
Int8Result quantise_trained(infer::Graph& graph, const ExportOptions& options) {
  if (options.int8 || options.int8_weights)
    throw Error(ErrorKind::kArgument,
                fmt::format("export {}: found --{} for a model that was trained for int8; expected no such option. "
                            "Remove it: the limits come from the training",
                            options.model.string(), options.int8 ? "int8" : "int8-weights"));
  graph = infer::quantise(std::move(graph), options.form.value_or(infer::Int8Form()));
  if (const std::string wrong = infer::violation(graph); !wrong.empty())
    throw Error(ErrorKind::kInternal, "quantise: " + wrong);
  Int8Result result;
  result.may_overflow = may_overflow(options.form.value_or(infer::Int8Form()));
  for (const infer::Node& node : graph.nodes)
    if (node.kind == infer::OpKind::kDequantizeLinear && graph.value(node.inputs[0]).constant) ++result.layers;
  return result;
}

void store_int8_weights(infer::Graph& graph) {
  const std::vector<std::size_t> layers = infer::linear_layers(graph);
  if (layers.empty())
    throw Error(ErrorKind::kInput, fmt::format("export {}: found no Gemm or MatMul with constant float32 weights; "
                                               "expected at least one for --int8-weights",
                                               graph.name));
  graph = infer::quantise_weights(std::move(graph), layers);
  if (const std::string wrong = infer::violation(graph); !wrong.empty())
    throw Error(ErrorKind::kInternal, "quantise weights: " + wrong);
}

Json json_of(const infer::TensorType& type) {
  Json shape = Json::array();
  for (const std::int64_t dimension : type.shape)
    shape.push_back(dimension == infer::kBatch ? Json("batch") : Json(dimension));
  return {{"type", infer::name_of(type.element)}, {"shape", shape}};
}

Json json_of(const std::optional<Int8Result>& int8, const ExportOptions& options) {
  if (!int8) return nullptr;
  const infer::Int8Form form = options.form.value_or(infer::Int8Form());
  if (!options.int8)
    return {{"method", "training"},
            {"weight_bits", form.weight_bits},
            {"signed_activations", form.signed_activations},
            {"layers", int8->layers},
            {"may_overflow", int8->may_overflow}};
  return {{"method", infer::name_of(options.int8->method)},
          {"weight_bits", form.weight_bits},
          {"signed_activations", form.signed_activations},
          {"images", int8->images},
          {"equalised", int8->equalised},
          {"layers", int8->layers},
          {"engine", int8->engine},
          {"kernels", int8->compiled.kernels},
          {"may_overflow", int8->may_overflow},
          {"int8_kernels", int8->compiled.kernels.empty() ? Json() : Json(int8->int8_kernels)}};
}

std::string text_of(const Int8Result& int8, const ExportOptions& options) {
  const int bits = options.form.value_or(infer::Int8Form()).weight_bits;
  const std::string overflow =
      int8.may_overflow ? "  this CPU has no VNNI instructions: sums may overflow here, which costs accuracy. "
                          "--weight-bits 7 avoids it\n"
                        : "";
  if (!options.int8)
    return fmt::format("  int8: {} layers, weights of {} bits, limits of training\n", int8.layers, bits) + overflow;
  std::string text = fmt::format("  int8: {} layers, weights of {} bits, limits by {} over {} image{}\n", int8.layers,
                                 bits, infer::name_of(options.int8->method), int8.images, int8.images == 1 ? "" : "s");
  text += overflow;
  if (int8.equalised > 0) text += fmt::format("  equalised channels of {} activations\n", int8.equalised);
  if (int8.compiled.kernels.empty()) return text + fmt::format("  {} does not report its kernels\n", int8.engine);
  for (const auto& [kernel, layers] : int8.compiled.kernels)
    text += fmt::format("  {:>5} x {} ({})\n", layers, kernel, int8.engine);
  return text;
}

}  // namespace

ExportResult run_export(const ExportOptions& options, const Progress& progress, std::stop_token stop) {
  check_export_file(options);
  const std::vector<infer::Pass> passes = export_passes(options.passes);
  auto [graph, reports] = infer::run_passes(infer::import_model(options.model, options.import), passes);
  if (options.form && !options.int8 && graph.limits.empty())
    throw Error(
        ErrorKind::kArgument,
        fmt::format("export {}: found --weight-bits or --signed-activations for a model in float32; expected them "
                    "with --int8, or for a checkpoint of training with --qat",
                    options.model.string()));
  std::optional<PrunedChannels> pruned;
  if (options.prune_channels > 0) {
    infer::ChannelPruning pruning = infer::prune_channels(graph, options.prune_channels);
    graph = std::move(pruning.graph);
    pruned = std::move(pruning.channels);
  }
  const std::int64_t parameters = graph.parameters();
  std::optional<Int8Result> int8;
  if (!graph.limits.empty())
    int8 = quantise_trained(graph, options);
  else if (options.int8)
    int8 = quantise_graph(graph, *options.int8, options.form.value_or(infer::Int8Form()), progress, stop);
  else if (options.int8_weights)
    store_int8_weights(graph);
  const std::string file = infer::format_onnx(graph);
  write_file_atomically(options.out, file);
  return {options,
          graph.value(graph.inputs.at(0)).type,
          graph.value(graph.outputs.at(0)).type,
          std::move(reports),
          graph.nodes.size(),
          parameters,
          std::move(pruned),
          graph.constant_bytes(),
          file.size(),
          std::move(int8)};
}

std::string to_json(const ExportResult& result) {
  Json passes = Json::array();
  for (const infer::PassReport& pass : result.passes)
    passes.push_back({{"name", pass.name},
                      {"changed", pass.changed},
                      {"nodes_before", pass.nodes_before},
                      {"nodes_after", pass.nodes_after}});
  const Json json = {{"model", result.options.model.string()},
                     {"out", result.options.out.string()},
                     {"opset", infer::onnx::kWrittenOpset},
                     {"input", json_of(result.input)},
                     {"output", json_of(result.output)},
                     {"passes", passes},
                     {"nodes", result.nodes},
                     {"parameters", result.parameters},
                     {"weight_bytes", result.weight_bytes},
                     {"file_bytes", result.file_bytes},
                     {"pruning", result.pruned ? to_json(*result.pruned) : Json()},
                     {"int8", json_of(result.int8, result.options)}};
  return json_text(json, 2);
}

std::string to_text(const ExportResult& result) {
  std::string text = fmt::format("{}: {} to {}\n", printable(result.options.model.string()), text_of(result.input),
                                 text_of(result.output));
  text += fmt::format("  {:<18} {:>8} {:>13} {:>12}\n", "pass", "changed", "nodes before", "nodes after");
  for (const infer::PassReport& pass : result.passes)
    text += fmt::format("  {:<18} {:>8} {:>13} {:>12}\n", pass.name, pass.changed, pass.nodes_before, pass.nodes_after);
  if (result.pruned) text += fmt::format("  pruned channels: {}; train the model again\n", to_text(*result.pruned));
  text += fmt::format("  {} parameters, {}\n", format_rate(static_cast<double>(result.parameters)),
                      format_bytes(result.weight_bytes));
  if (result.int8) text += text_of(*result.int8, result.options);
  text += fmt::format("  wrote {}, {}, ONNX opset {}\n", printable(result.options.out.string()),
                      format_bytes(result.file_bytes), infer::onnx::kWrittenOpset);
  return text;
}

}  // namespace unstarve
