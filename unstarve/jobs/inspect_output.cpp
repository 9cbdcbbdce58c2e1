// Text and JSON of InspectResult.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/inspect.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(Size size) { return Json::array({size.width, size.height}); }

std::string text_of(Size size) { return fmt::format("{} x {}", size.width, size.height); }

std::string text_of(const std::vector<ClassCount>& classes) {
  if (classes.empty()) return "none";
  const auto [fewest, most] = std::minmax_element(classes.begin(), classes.end(),
                                                  [](const auto& a, const auto& b) { return a.samples < b.samples; });
  std::string text = fmt::format("{}, {} to {} samples each (", classes.size(), fewest->samples, most->samples);
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(classes.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + printable(classes[i].name);
  return text + (classes.size() > kShown ? ", ...)" : ")");
}

}  // namespace

std::string to_json(const InspectResult& result) {
  Json json;
  json["path"] = result.path;
  json["format"] = result.format;
  json["samples"] = result.samples;
  json["records"] = result.records;
  json["classes"] = result.classes.size();
  json["class_counts"] = Json::array();
  for (const ClassCount& count : result.classes) {
    json["class_counts"].push_back({{"name", count.name}, {"samples", count.samples}});
  }
  json["bytes"] = result.bytes;
  const bool any = result.sizes.largest.width > 0;
  json["sizes"]["smallest"] = any ? json_of(result.sizes.smallest) : Json();
  json["sizes"]["median"] = any ? json_of(result.sizes.median) : Json();
  json["sizes"]["largest"] = any ? json_of(result.sizes.largest) : Json();
  json["encodings"] = result.encodings;
  json["corrupt"] = Json::array();
  for (const CorruptRecord& record : result.corrupt) {
    json["corrupt"].push_back({{"id", record.id}, {"location", to_string(record.location)}, {"reason", record.reason}});
  }
  json["notes"] = result.notes;
  // File names need not be UTF-8, but JSON must be: invalid bytes become U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string to_text(const InspectResult& result, std::size_t corrupt_shown) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<11}{}\n", name, value);
  };
  line("data", printable(result.path));
  line("format", result.format);
  line("samples", result.samples == result.records
                      ? fmt::format("{}", result.samples)
                      : fmt::format("{} of {} records (filter and take of the spec)", result.samples, result.records));
  line("classes", text_of(result.classes));
  line("bytes", format_bytes(result.bytes));
  if (result.sizes.largest.width > 0) {
    line("pixels", fmt::format("{} smallest, {} median, {} largest", text_of(result.sizes.smallest),
                               text_of(result.sizes.median), text_of(result.sizes.largest)));
  }
  std::string encodings;
  for (const auto& [name, count] : result.encodings)
    encodings += fmt::format("{}{} {}", encodings.empty() ? "" : ", ", count, name);
  if (!encodings.empty()) line("encodings", encodings);
  line("corrupt", result.corrupt.empty() ? "none" : fmt::format("{}", result.corrupt.size()));
  for (std::size_t i = 0; i < std::min(corrupt_shown, result.corrupt.size()); ++i) {
    const CorruptRecord& record = result.corrupt[i];
    // Read errors already name the record.
    const std::string location = to_string(record.location);
    const bool named = record.reason.find(location) != std::string::npos;
    text += "    " + printable(named ? record.reason : location + ": " + record.reason) + "\n";
  }
  if (result.corrupt.size() > corrupt_shown)
    text += fmt::format("    ... and {} more\n", result.corrupt.size() - corrupt_shown);
  for (const std::string& note : result.notes) line("note", printable(note));
  return text;
}

}  // namespace unstarve
