#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unstarve/jobs/prepare.h"
#include "unstarve/observe/format.h"

namespace unstarve {

std::string to_json(const PrepareResult& result) {
  nlohmann::ordered_json splits = nlohmann::ordered_json::array(), archives = nlohmann::ordered_json::array();
  for (const PreparedSplit& split : result.splits) {
    splits.push_back(
        {{"name", split.name}, {"samples", split.samples}, {"unlabelled", split.unlabelled}, {"open", split.open}});
  }
  for (const ArchiveOutcome& archive : result.archives) {
    archives.push_back({{"file", archive.file},
                        {"path", archive.path},
                        {"bytes", archive.bytes},
                        {"checked", archive.checked},
                        {"downloaded", archive.downloaded},
                        {"resumed_from", archive.resumed_from},
                        {"files", archive.files}});
  }
  return nlohmann::ordered_json{{"name", result.name},
                                {"path", result.path},
                                {"classes", result.classes},
                                {"splits", splits},
                                {"archives", archives},
                                {"packed", result.packed},
                                {"already_there", result.already_there}}
      .dump();
}

std::string to_text(const PrepareResult& result) {
  std::string text;
  for (const ArchiveOutcome& archive : result.archives) {
    const std::string checked = archive.checked == "earlier" ? "done in an earlier run"
                                : archive.checked == "name"  ? "no checksum published, matched by name"
                                : archive.checked == "size"  ? "no checksum published, length matches"
                                                             : archive.checked + " as published";
    text += fmt::format("{}: {}{}\n", printable(archive.file), checked,
                        archive.resumed_from > 0 ? ", download resumed at " + format_bytes(archive.resumed_from) : "");
  }
  for (const PreparedSplit& split : result.splits) {
    const std::string without = split.unlabelled > 0 ? fmt::format(", {} without a label", split.unlabelled) : "";
    text += fmt::format("{}: {} {}samples{}{}\n", printable(split.open), split.samples,
                        split.name.empty() ? "" : printable(split.name) + " ", without,
                        result.already_there ? " (already there)" : "");
  }
  return text;
}

}  // namespace unstarve
