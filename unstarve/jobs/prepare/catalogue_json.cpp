// Reads and writes the catalogue as JSON and prints it as text. Unknown keys are errors, so that a mistyped key is not
// ignored.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/jobs/prepare/catalogue.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kLayouts = {PreparedLayout::kFiles, PreparedLayout::kImageNet, PreparedLayout::kCoco,
                                 PreparedLayout::kOpenImages};

// One JSON object with its path in the file, for messages.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail("not an object");
  }

  [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorKind::kInput, where_ + ": " + what); }

  void only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) fail("unknown key \"" + key + "\"");
    }
  }
  [[nodiscard]] std::string text(const char* key, bool required = false) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) {
      if (required) fail(std::string("\"") + key + "\" is missing");
      return "";
    }
    if (!found->is_string()) fail(std::string("\"") + key + "\" is not a string");
    const std::string value = found->get<std::string>();
    if (required && value.empty()) fail(std::string("\"") + key + "\" is empty");
    return value;
  }
  [[nodiscard]] std::uint64_t number(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) return 0;
    if (!found->is_number_unsigned()) fail(std::string("\"") + key + "\" is not a non-negative integer");
    return found->get<std::uint64_t>();
  }
  [[nodiscard]] bool flag(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return false;
    if (!found->is_boolean()) fail(std::string("\"") + key + "\" is neither true nor false");
    return found->get<bool>();
  }
  // The elements of an array, each with its path.
  template <class Visit>
  void each(const char* key, const Visit& visit) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return;
    if (!found->is_array()) fail(std::string("\"") + key + "\" is not an array");
    for (std::size_t i = 0; i < found->size(); ++i) visit((*found)[i], fmt::format("{}.{}[{}]", where_, key, i));
  }
  [[nodiscard]] const Json& json() const { return json_; }

 private:
  const Json& json_;
  std::string where_;
};

std::string checksum(const Reader& reader, const char* key, std::size_t digits) {
  const std::string text = reader.text(key);
  const bool fits =
      text.empty() || (text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos);
  if (!fits) reader.fail(fmt::format("\"{}\": expected {} lower-case hexadecimal digits", key, digits));
  return text;
}

// A relative path without "..", or empty.
std::string inner_path(const Reader& reader, const char* key) {
  std::string path = reader.text(key);
  while (path.ends_with('/')) path.pop_back();
  if (!path.empty() && leaves_folder(path)) reader.fail(std::string("\"") + key + "\" is outside its folder: " + path);
  return path;
}

std::string file_name(const Reader& reader) {
  const std::string name = reader.text("file", true);
  if (name == "." || name == ".." || name.find('/') != std::string::npos) {
    reader.fail("\"file\" is not a file name: " + name);
  }
  return name;
}

PublishedArchive archive_from(const Json& json, const std::string& where) {
  const Reader reader(json, where);
  reader.only({"file", "bytes", "md5", "sha256", "url", "split", "member", "inside", "to", "each", "leave_out"});
  PublishedArchive archive;
  archive.file = file_name(reader);
  archive.bytes = reader.number("bytes");
  archive.md5 = checksum(reader, "md5", 32);
  archive.sha256 = checksum(reader, "sha256", 64);
  archive.url = reader.text("url");
  archive.split = reader.text("split");
  archive.member = inner_path(reader, "member");
  archive.inside = inner_path(reader, "inside");
  archive.to = inner_path(reader, "to");
  archive.each = reader.flag("each");
  reader.each("leave_out", [&](const Json& name, const std::string& where) {
    if (!name.is_string()) throw Error(ErrorKind::kInput, where + ": not a string");
    archive.leave_out.push_back(name.get<std::string>());
  });
  return archive;
}

PreparedLayout layout_from(const Reader& reader) {
  const std::string name = reader.text("layout", true);
  std::string names;
  for (const PreparedLayout layout : kLayouts) {
    if (name == to_string(layout)) return layout;
    names += (names.empty() ? "" : ", ") + std::string(to_string(layout));
  }
  reader.fail("\"layout\" is \"" + name + "\"; expected one of " + names);
}

std::vector<SplitSize> splits_from(const Reader& reader) {
  std::vector<SplitSize> splits;
  const auto found = reader.json().find("splits");
  if (found == reader.json().end()) return splits;
  if (!found->is_object()) reader.fail("\"splits\" is not an object of names and numbers");
  for (const auto& [name, samples] : found->items()) {
    if (name.empty() || name.find('/') != std::string::npos || name == "..") {
      reader.fail("\"splits\": \"" + name + "\" is not a split name");
    }
    if (!samples.is_number_unsigned()) reader.fail("\"splits\": \"" + name + "\" is not a non-negative integer");
    splits.push_back({name, samples.get<std::uint64_t>()});
  }
  return splits;
}

void check_splits(const CatalogueEntry& entry, const Reader& reader) {
  for (const PublishedArchive& archive : entry.archives) {
    const bool known = archive.split.empty() || std::any_of(entry.splits.begin(), entry.splits.end(),
                                                            [&](const auto& s) { return s.name == archive.split; });
    if (!known) reader.fail("archive " + archive.file + ": split \"" + archive.split + "\" is not in \"splits\"");
  }
}

CatalogueEntry entry_from(const Json& json, const std::string& where) {
  const Reader reader(json, where);
  reader.only({"name", "title", "purpose", "classes", "splits", "samples", "bytes", "licence", "home", "published",
               "note", "layout", "archives", "other_forms"});
  CatalogueEntry entry;
  entry.name = reader.text("name", true);
  entry.title = reader.text("title", true);
  entry.purpose = reader.text("purpose");
  entry.licence = reader.text("licence");
  entry.home = reader.text("home");
  entry.published = reader.text("published");
  entry.note = reader.text("note");
  entry.classes = reader.number("classes");
  entry.splits = splits_from(reader);
  entry.layout = layout_from(reader);
  reader.each("archives", [&](const Json& archive, const std::string& where) {
    entry.archives.push_back(archive_from(archive, where));
  });
  if (entry.archives.empty()) reader.fail("no archives");
  reader.each("other_forms", [&](const Json& form, const std::string& where) {
    const Reader other(form, where);
    other.only({"file", "md5", "reason"});
    entry.other_forms.push_back({file_name(other), checksum(other, "md5", 32), other.text("reason", true)});
  });
  check_splits(entry, reader);
  return entry;
}

// Omits unpublished values.
Json archive_to(const PublishedArchive& archive) {
  Json json = {{"file", archive.file}};
  if (archive.bytes > 0) json["bytes"] = archive.bytes;
  const std::array<std::pair<const char*, const std::string*>, 7> texts = {{{"md5", &archive.md5},
                                                                            {"sha256", &archive.sha256},
                                                                            {"url", &archive.url},
                                                                            {"split", &archive.split},
                                                                            {"member", &archive.member},
                                                                            {"inside", &archive.inside},
                                                                            {"to", &archive.to}}};
  for (const auto& [key, text] : texts) {
    if (!text->empty()) json[key] = *text;
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
  for (const SplitSize& split : entry.splits) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(split.name), split.samples);
  }
  return text.empty() ? "no published splits" : text;
}

}  // namespace

std::vector<CatalogueEntry> parse_catalogue(std::string_view json, const std::string& file) {
  Json document;
  try {
    document = Json::parse(json);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, "catalogue " + file + ": " + error.what());
  }
  const Reader reader(document, "catalogue " + file);
  reader.only({"unstarve_catalogue", "datasets"});
  if (reader.number("unstarve_catalogue") != 1) reader.fail("\"unstarve_catalogue\" is not 1");
  std::vector<CatalogueEntry> entries;
  reader.each("datasets",
              [&](const Json& entry, const std::string& where) { entries.push_back(entry_from(entry, where)); });
  if (entries.empty()) reader.fail("no datasets");
  return entries;
}

std::string to_json(const std::vector<CatalogueEntry>& catalogue) {
  Json datasets = Json::array();
  for (const CatalogueEntry& entry : catalogue) datasets.push_back(entry_to(entry));
  return Json{{"unstarve_catalogue", 1}, {"datasets", datasets}}.dump();
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
