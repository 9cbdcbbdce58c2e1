#include "unstarve/jobs/prepare/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

// Sources: the home page of each entry; MD5 of MNIST, Caltech and ImageNet also from torchvision.datasets; sizes and
// SHA-256 from tensorflow_datasets/url_checksums/*.txt.
constexpr std::string_view kKnownDatasets =
#include "unstarve/jobs/prepare/known_datasets.inl"
    ;

std::string joined(const std::string& names, std::string_view name) {
  return names + (names.empty() ? "" : ", ") + std::string(name);
}

std::string required_text(const JsonReader& reader, const char* key) {
  std::string value = reader.text(key);
  if (value.empty()) reader.reject(fmt::format("\"{}\" is empty", key));
  return value;
}

std::string checksum(const JsonReader& reader, const char* key, std::size_t digits) {
  std::string text = reader.optional_text(key);
  const bool fits =
      text.empty() || (text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos);
  if (!fits) reader.reject(fmt::format("\"{}\": expected {} lower-case hexadecimal digits", key, digits));
  return text;
}

// A relative path without "..", or empty.
std::string inner_path(const JsonReader& reader, const char* key) {
  std::string path = reader.optional_text(key);
  while (path.ends_with('/')) path.pop_back();
  if (!path.empty() && leaves_folder(path))
    reader.reject(std::string("\"") + key + "\" is outside its folder: " + path);
  return path;
}

std::string file_name(const JsonReader& reader) {
  std::string name = required_text(reader, "file");
  if (name == "." || name == ".." || name.find('/') != std::string::npos) {
    reader.reject("\"file\" is not a file name: " + name);
  }
  return name;
}

PublishedArchive archive_from(const Json& json, const std::string& where) {
  const JsonReader reader(json, where);
  reader.only({"file", "bytes", "md5", "sha256", "url", "split", "member", "inside", "to", "each", "leave_out"});
  PublishedArchive archive;
  archive.file = file_name(reader);
  archive.bytes = reader.optional_number("bytes");
  archive.md5 = checksum(reader, "md5", 32);
  archive.sha256 = checksum(reader, "sha256", 64);
  archive.url = reader.optional_text("url");
  archive.split = reader.optional_text("split");
  archive.member = inner_path(reader, "member");
  archive.inside = inner_path(reader, "inside");
  archive.to = inner_path(reader, "to");
  archive.each = reader.optional_flag("each");
  reader.each("leave_out", [&](const Json& name, const std::string& item) {
    if (!name.is_string()) throw Error(ErrorKind::kInput, item + ": not a string");
    archive.leave_out.push_back(name.get<std::string>());
  });
  return archive;
}

PreparedLayout layout_from(const JsonReader& reader) {
  const std::string name = required_text(reader, "layout");
  const auto words = words_of<PreparedLayout>();
  const auto found = std::ranges::find(words, name);
  if (found == words.end())
    reader.reject(fmt::format("\"layout\" is \"{}\"; expected one of {}", name, fmt::join(words, ", ")));
  return static_cast<PreparedLayout>(found - words.begin());
}

std::vector<SplitSize> splits_from(const JsonReader& reader) {
  std::vector<SplitSize> splits;
  if (!reader.has("splits")) return splits;
  for (const auto& [name, samples] : reader.object("splits").items()) {
    if (name.empty() || name.find('/') != std::string::npos || name == "..") {
      reader.reject("\"splits\": \"" + name + "\" is not a split name");
    }
    if (!samples.is_number_unsigned()) reader.reject("\"splits\": \"" + name + "\" is not a non-negative integer");
    splits.push_back({name, samples.get<std::uint64_t>()});
  }
  return splits;
}

void check_splits(const CatalogueEntry& entry, const JsonReader& reader) {
  for (const PublishedArchive& archive : entry.archives) {
    const bool known = archive.split.empty() ||
                       std::ranges::any_of(entry.splits, [&](const auto& s) { return s.name == archive.split; });
    if (!known) reader.reject("archive " + archive.file + ": split \"" + archive.split + "\" is not in \"splits\"");
  }
}

CatalogueEntry entry_from(const Json& json, const std::string& where) {
  const JsonReader reader(json, where);
  reader.only({"name", "title", "purpose", "classes", "splits", "samples", "bytes", "licence", "home", "published",
               "note", "layout", "archives", "other_forms"});
  CatalogueEntry entry;
  entry.name = required_text(reader, "name");
  entry.title = required_text(reader, "title");
  entry.purpose = reader.optional_text("purpose");
  entry.licence = reader.optional_text("licence");
  entry.home = reader.optional_text("home");
  entry.published = reader.optional_text("published");
  entry.note = reader.optional_text("note");
  entry.classes = reader.optional_number("classes");
  entry.splits = splits_from(reader);
  entry.layout = layout_from(reader);
  reader.each("archives", [&](const Json& archive, const std::string& item) {
    entry.archives.push_back(archive_from(archive, item));
  });
  if (entry.archives.empty()) reader.reject("no archives");
  reader.each("other_forms", [&](const Json& form, const std::string& item) {
    const JsonReader other(form, item);
    other.only({"file", "md5", "reason"});
    entry.other_forms.push_back({file_name(other), checksum(other, "md5", 32), required_text(other, "reason")});
  });
  check_splits(entry, reader);
  return entry;
}

// Omits unpublished values.
Json archive_to(const PublishedArchive& archive) {
  Json json = {{"file", archive.file}};
  if (archive.bytes > 0) json["bytes"] = archive.bytes;
  for (const auto& [key, text] : {std::pair{"md5", archive.md5},
                                  {"sha256", archive.sha256},
                                  {"url", archive.url},
                                  {"split", archive.split},
                                  {"member", archive.member},
                                  {"inside", archive.inside},
                                  {"to", archive.to}}) {
    if (!text.empty()) json[key] = text;
  }
  if (archive.each) json["each"] = true;
  if (!archive.leave_out.empty()) json["leave_out"] = archive.leave_out;
  return json;
}

Json entry_to(const CatalogueEntry& entry) {
  Json splits = Json::object(), archives = Json::array(), others = Json::array();
  for (const SplitSize& split : entry.splits) splits[split.name] = split.samples;
  for (const PublishedArchive& archive : entry.archives) archives.push_back(archive_to(archive));
  for (const OtherForm& form : entry.other_forms) {
    others.push_back({{"file", form.file}, {"md5", form.md5}, {"reason", form.reason}});
  }
  return {{"name", entry.name},       {"title", entry.title},         {"purpose", entry.purpose},
          {"classes", entry.classes}, {"samples", entry.samples()},   {"splits", splits},
          {"bytes", entry.bytes()},   {"licence", entry.licence},     {"home", entry.home},
          {"note", entry.note},       {"published", entry.published}, {"layout", to_string(entry.layout)},
          {"archives", archives},     {"other_forms", others}};
}

std::string samples_text(const CatalogueEntry& entry) {
  std::string text;
  for (const SplitSize& split : entry.splits)
    text = joined(text, fmt::format("{} {}", printable(split.name), split.samples));
  return text.empty() ? "no published splits" : text;
}

}  // namespace

std::uint64_t CatalogueEntry::bytes() const {
  const bool known = std::ranges::all_of(archives, [](const auto& archive) { return archive.bytes > 0; });
  if (!known) return 0;
  return std::accumulate(archives.begin(), archives.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const PublishedArchive& archive) { return sum + archive.bytes; });
}

std::uint64_t CatalogueEntry::samples() const {
  return std::accumulate(splits.begin(), splits.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const SplitSize& split) { return sum + split.samples; });
}

std::vector<CatalogueEntry> load_catalogue(const std::filesystem::path& extra) {
  std::vector<CatalogueEntry> catalogue = known_datasets();
  if (extra.empty()) return catalogue;
  for (CatalogueEntry& entry : parse_catalogue(read_text_file(extra), extra.string())) {
    const auto same = std::ranges::find(catalogue, entry.name, &CatalogueEntry::name);
    if (same == catalogue.end()) {
      catalogue.push_back(std::move(entry));
    } else {
      *same = std::move(entry);
    }
  }
  return catalogue;
}

const CatalogueEntry& find_dataset(const std::vector<CatalogueEntry>& catalogue, std::string_view name) {
  std::string names;
  for (const CatalogueEntry& entry : catalogue) {
    if (entry.name == name) return entry;
    names = joined(names, entry.name);
  }
  throw Error(ErrorKind::kArgument, "dataset \"" + std::string(name) + "\": unknown; expected one of " + names +
                                        ", or one of your own with --catalogue");
}

std::vector<CatalogueEntry> known_datasets() { return parse_catalogue(kKnownDatasets, "known datasets"); }

std::vector<CatalogueEntry> parse_catalogue(std::string_view json, const std::string& file) {
  Json document;
  try {
    document = parse_ordered_json(json);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, "catalogue " + file + ": " + error.what());
  }
  const JsonReader reader(document, "catalogue " + file);
  reader.only({"unstarve_catalogue", "datasets"});
  if (reader.number("unstarve_catalogue") != 1) reader.reject("\"unstarve_catalogue\" is not 1");
  std::vector<CatalogueEntry> entries;
  reader.each("datasets",
              [&](const Json& entry, const std::string& where) { entries.push_back(entry_from(entry, where)); });
  if (entries.empty()) reader.reject("no datasets");
  return entries;
}

std::string to_json(const std::vector<CatalogueEntry>& catalogue) {
  Json datasets = Json::array();
  for (const CatalogueEntry& entry : catalogue) datasets.push_back(entry_to(entry));
  return json_text(Json{{"unstarve_catalogue", 1}, {"datasets", datasets}});
}

std::string to_text(const std::vector<CatalogueEntry>& catalogue) {
  std::string text;
  for (const CatalogueEntry& entry : catalogue) {
    const std::string bytes = entry.bytes() > 0 ? format_bytes(entry.bytes()) : "size not published";
    text += fmt::format("{}{}\n", pad_right(printable(entry.name), 16), printable(entry.title));
    const auto line = [&](const char* name, const std::string& value) {
      if (!value.empty()) text += fmt::format("  {}{}\n", pad_right(name, 14), printable(value));
    };
    line("for", entry.purpose);
    line("samples", fmt::format("{}; {} classes; {}", samples_text(entry), entry.classes, bytes));
    line("licence", entry.licence);
    line("home", entry.home);
    line("published as", entry.published);
    line("note", entry.note);
    for (const PublishedArchive& archive : entry.archives) {
      const std::string sum = !archive.md5.empty()      ? "MD5 " + archive.md5
                              : !archive.sha256.empty() ? "SHA-256 " + archive.sha256
                                                        : "no checksum published";
      line("archive",
           archive.file + "  " + (archive.bytes > 0 ? format_bytes(archive.bytes) : "size not published") + "  " + sum);
    }
    text += "\n";
  }
  return text;
}

}  // namespace unstarve
