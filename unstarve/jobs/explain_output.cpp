// Text and JSON of ExplainResult.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/explain.h"
#include "unstarve/observe/format.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/yaml_json.h"

namespace unstarve {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(Size size) { return Json::array({size.width, size.height}); }

Json json_of(const OpParams& params) {
  Json map = Json::object();
  for (const auto& [name, value] : params) {
    if (value.scheduled())
      map[name] = to_text(value);
    else if (value.word.empty())
      map[name] = value.numbers;
    else
      map[name] = value.word == "true" || value.word == "false" ? Json(value.word == "true") : Json(value.word);
  }
  return map;
}

// Indents each line of a text.
std::string indented(const std::string& text, std::size_t indent) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += std::string(indent, ' ') + printable(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out;
}

const ExplainedSetting& chosen(const ExplainResult& result, std::string_view name) {
  return *std::ranges::find(result.chosen, name, &ExplainedSetting::name);
}

// "2: initially all usable cores, then autotuned"
std::string value_and_reason(const ExplainedSetting& setting) { return setting.value + ": " + setting.reason; }

std::string operations_line(const ExplainResult& result) {
  std::string names;
  for (const ExplainedOperation& operation : result.operations)
    names += (names.empty() ? "" : ", ") + operation.spec.name;
  return fmt::format("{}: {}x{} -> {}x{}", names.empty() ? "none" : names, result.image.width, result.image.height,
                     result.sample_size.width, result.sample_size.height);
}

std::string decode_line(const ExplainResult& result) {
  if (!result.encoded) return "none: samples are stored as pixels";
  std::string text;
  for (const DecodeNote& note : result.decode)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", note.name, note.value);
  return text;
}

std::string passes_line(const ExplainResult& result) {
  std::string names;
  for (const PassNote& pass : result.passes)
    if (pass.applied) names += (names.empty() ? "" : ", ") + pass.name;
  return fmt::format("{} ({} of {} applied)", names.empty() ? "none" : names,
                     std::ranges::count(result.passes, true, &PassNote::applied), result.passes.size());
}

}  // namespace

std::string to_summary(const ExplainResult& result) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<11} {}\n", name, printable(value));
  };
  line("data", fmt::format("{}: {}, {} samples, {} classes", name_of_sources(result.settings.pipeline), result.format,
                           result.samples, result.classes));
  line("operations", operations_line(result));
  line("output", value_and_reason(chosen(result, "output")));
  line("batch", fmt::format("{} samples: {}", chosen(result, "batch.size").value, chosen(result, "batch.size").reason));
  line("memory",
       fmt::format("{} per batch, {} in total", format_bytes(result.batch_bytes), format_bytes(result.memory_bytes)));
  line("threads", value_and_reason(chosen(result, "execution.threads")));
  line("prefetch", fmt::format("{} batches, read_ahead {} records", chosen(result, "execution.prefetch").value,
                               chosen(result, "execution.read_ahead").value));
  line("cache", value_and_reason(chosen(result, "cache.what")));
  line("decode", decode_line(result));
  line("passes", passes_line(result));
  return text;
}

std::string to_text(const ExplainResult& result) {
  std::string text = "settings\n" + indented(to_yaml(result.settings), 2) + "plan\n" + indented(result.plan, 2);
  text += fmt::format("  memory      {} per batch, {} in total\n", format_bytes(result.batch_bytes),
                      format_bytes(result.memory_bytes));
  std::size_t names = 0, values = 0;
  for (const ExplainedSetting& setting : result.chosen) {
    names = std::max(names, setting.name.size());
    values = std::max(values, setting.value.size());
  }
  text += "chosen\n";
  for (const ExplainedSetting& setting : result.chosen)
    text += fmt::format("  {:<{}}  {:<{}}  {}\n", setting.name, names, setting.value, values, setting.reason);
  return text;
}

std::string to_json(const ExplainResult& result) {
  Json json;
  json["settings"] = yaml_to_json(to_yaml(result.settings));
  Json& plan = json["plan"];
  plan["format"] = result.format;
  plan["samples"] = result.samples;
  plan["classes"] = result.classes;
  plan["encoded"] = result.encoded;
  plan["image"] = json_of(result.image);
  plan["operations"] = Json::array();
  for (const ExplainedOperation& operation : result.operations) {
    plan["operations"].push_back({{"name", operation.spec.name},
                                  {"params", json_of(operation.spec.params)},
                                  {"input", json_of(operation.input)},
                                  {"output", json_of(operation.output)},
                                  {"random", operation.random}});
  }
  plan["sample_size"] = json_of(result.sample_size);
  plan["batch"] = result.settings.pipeline.batch.size;
  plan["batches"] = result.batches;
  plan["batch_bytes"] = result.batch_bytes;
  plan["memory_bytes"] = result.memory_bytes;
  json["passes"] = Json::array();
  for (const PassNote& pass : result.passes) {
    json["passes"].push_back({{"name", pass.name},
                              {"applied", pass.applied},
                              {"exact", pass.exact},
                              {"error", pass.error},
                              {"reason", pass.reason}});
  }
  json["decode"] = Json::array();
  for (const DecodeNote& note : result.decode)
    json["decode"].push_back({{"name", note.name}, {"value", note.value}, {"reason", note.reason}});
  json["chosen"] = Json::array();
  for (const ExplainedSetting& setting : result.chosen)
    json["chosen"].push_back({{"name", setting.name}, {"value", setting.value}, {"reason", setting.reason}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace unstarve
