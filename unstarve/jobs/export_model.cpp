#include "unstarve/jobs/export_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/infer/onnx/onnx_fields.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/observe/format.h"

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

Json json_of(const infer::TensorType& type) {
  Json shape = Json::array();
  for (const std::int64_t dimension : type.shape)
    shape.push_back(dimension == infer::kBatch ? Json("batch") : Json(dimension));
  return {{"type", infer::name_of(type.element)}, {"shape", shape}};
}

}  // namespace

ExportResult run_export(const ExportOptions& options) {
  check_export_file(options);
  const std::vector<infer::Pass> passes = export_passes(options.passes);
  auto [graph, reports] = infer::run_passes(infer::import_model(options.model, options.import), passes);
  const std::string file = infer::format_onnx(graph);
  write_file_atomically(options.out, file);
  return {options,
          graph.value(graph.inputs.at(0)).type,
          graph.value(graph.outputs.at(0)).type,
          std::move(reports),
          graph.nodes.size(),
          graph.parameters(),
          graph.constant_bytes(),
          file.size()};
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
                     {"opset", infer::onnx::kNewestOpset},
                     {"input", json_of(result.input)},
                     {"output", json_of(result.output)},
                     {"passes", passes},
                     {"nodes", result.nodes},
                     {"parameters", result.parameters},
                     {"weight_bytes", result.weight_bytes},
                     {"file_bytes", result.file_bytes}};
  return dump(json, 2);
}

std::string to_text(const ExportResult& result) {
  std::string text = fmt::format("{}: {} to {}\n", printable(result.options.model.string()), text_of(result.input),
                                 text_of(result.output));
  text += fmt::format("  {:<18} {:>8} {:>13} {:>12}\n", "pass", "changed", "nodes before", "nodes after");
  for (const infer::PassReport& pass : result.passes)
    text += fmt::format("  {:<18} {:>8} {:>13} {:>12}\n", pass.name, pass.changed, pass.nodes_before, pass.nodes_after);
  text += fmt::format("  {} parameters, {}\n", format_rate(static_cast<double>(result.parameters)),
                      format_bytes(result.weight_bytes));
  text += fmt::format("  wrote {}, {}, ONNX opset {}\n", printable(result.options.out.string()),
                      format_bytes(result.file_bytes), infer::onnx::kNewestOpset);
  return text;
}

}  // namespace unstarve
