#include "unstarve/jobs/data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/local_folder.h"
#include "unstarve/jobs/prepare/download.h"
#include "unstarve/jobs/prepare/find_archive.h"
#include "unstarve/jobs/prepare/layout.h"
#include "unstarve/jobs/prepare/unpack.h"
#include "unstarve/jobs/prepare/work_folder.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = "unstarve-prepare.json";

std::vector<PublishedArchive> requested_archives(const CatalogueEntry& entry, const std::string& only) {
  std::vector<PublishedArchive> archives = entry.archives;
  std::erase_if(archives, [&](const PublishedArchive& archive) {
    return !only.empty() && !archive.split.empty() && archive.split != only;
  });
  return archives;
}

// The requested published splits; a single one without a name if the dataset has no splits.
std::vector<SplitSize> requested_splits(const CatalogueEntry& entry, const std::string& only) {
  if (entry.splits.empty()) {
    if (only.empty()) return {{"", 0}};
    throw Error(ErrorKind::kArgument, "prepare " + entry.name + ": found split \"" + only +
                                          "\", but the dataset is published without splits");
  }
  std::vector<SplitSize> splits = entry.splits;
  if (only.empty()) return splits;
  std::erase_if(splits, [&](const SplitSize& split) { return split.name != only; });
  if (!splits.empty()) return splits;
  std::string names;
  for (const SplitSize& split : entry.splits) names += (names.empty() ? "" : ", ") + split.name;
  throw Error(ErrorKind::kArgument,
              "prepare " + entry.name + ": found split \"" + only + "\"; expected one of " + names);
}

Json plan_of_pack(const PackOptions& pack) {
  Json splits = Json::object();
  for (const SplitShare& split : pack.splits) splits[split.name] = split.share;
  return {{"format", pack.format},   {"resize", pack.resize},
          {"quality", pack.quality}, {"shard_mb", pack.shard_mb},
          {"shuffle", pack.shuffle}, {"seed", pack.seed},
          {"splits", splits},        {"skip_damaged", pack.skip_damaged}};
}

// The plan as text; equal plans have equal results.
std::string plan_of(const CatalogueEntry& entry, const PrepareOptions& options) {
  CatalogueEntry facts = entry;
  facts.archives = requested_archives(entry, options.only);
  Json plan = {{"unstarve_prepare", 1},
               {"dataset", parse_ordered_json(to_json(std::vector{facts}))["datasets"][0]},
               {"only", options.only}};
  if (options.pack) plan["pack"] = plan_of_pack(*options.pack);
  return json_text(plan, 1) + "\n";
}

// Calls `progress` about ten times a second.
class Meter {
 public:
  Meter(const Progress& progress, const std::vector<PublishedArchive>& archives) : progress_(progress) {
    for (const PublishedArchive& archive : archives) total_ += weight_of(archive);
  }
  // Starts one of the three phases of an archive; `bytes` is its length, 0 if unknown.
  void begin(const PublishedArchive& archive, std::string what, std::uint64_t bytes) {
    before_ += part_;
    part_ = static_cast<double>(weight_of(archive)) / 3;
    what_ = std::move(what);
    bytes_ = bytes;
    done_ = 0;
    report(0, true);
  }
  void skip(const PublishedArchive& archive) { before_ += static_cast<double>(weight_of(archive)); }
  void finish(const std::string& what) {
    if (progress_) progress_(what, 1);
  }
  void advance(std::uint64_t count) {
    done_ += count;
    report(bytes_ > 0 ? std::min(1.0, static_cast<double>(done_) / static_cast<double>(bytes_)) : 0, false);
  }

 private:
  static std::uint64_t weight_of(const PublishedArchive& archive) {
    return archive.bytes > 0 ? archive.bytes : 100'000'000;  // a guess for the progress bar
  }
  void report(double share, bool immediately) {
    const std::int64_t now = steady_clock().now_ns();
    if (!progress_ || (!immediately && now - reported_ns_ < 100'000'000)) return;
    reported_ns_ = now;
    progress_(what_, (before_ + part_ * share) / static_cast<double>(total_));
  }

  const Progress& progress_;
  std::uint64_t total_ = 0, bytes_ = 0, done_ = 0;
  double before_ = 0, part_ = 0;
  std::string what_;
  std::int64_t reported_ns_ = 0;
};

std::string url_of(const CatalogueEntry& entry, const PublishedArchive& archive, const std::string& from) {
  if (from.empty()) {
    if (!archive.url.empty()) return archive.url;
    throw Error(ErrorKind::kArgument, "prepare " + entry.name + ": " + archive.file + " is only available from " +
                                          entry.home + (entry.note.empty() ? "" : " (" + entry.note + ")") +
                                          "; give its folder with --from");
  }
  if (from.ends_with("/" + archive.file)) return from;
  return from + (from.ends_with('/') ? "" : "/") + archive.file;
}

// One call of run_prepare().
class Preparation {
 public:
  Preparation(const CatalogueEntry& entry, const fs::path& out, const PrepareOptions& options, const Progress& progress,
              std::stop_token stop)
      : entry_(entry),
        out_(out),
        options_(options),
        progress_(progress),
        stop_(std::move(stop)),
        archives_(requested_archives(entry, options.only)),
        splits_(requested_splits(entry, options.only)),
        meter_(progress, archives_) {
    if (options.pack && !options.pack->splits.empty() && !entry.splits.empty()) {
      throw Error(ErrorKind::kArgument, "prepare " + entry.name +
                                            ": --split given, but the dataset has published splits; "
                                            "expected a dataset without splits");
    }
    // Checked before hours of work.
    if (options.from.empty()) {
      for (const PublishedArchive& archive : archives_) (void)url_of(entry, archive, "");
    }
  }

  PrepareResult run() {
    const std::string plan = plan_of(entry_, options_);
    if (read_earlier_result(plan)) return result_;
    const PrepareFolder work(out_, plan);
    try {
      make(work, plan);
    } catch (...) {
      work.tidy();
      throw;
    }
    work.remove();
    return result_;
  }

 private:
  void make(const PrepareFolder& work, const std::string& plan) {
    for (std::size_t i = 0; i < archives_.size(); ++i) take_archive(work, i);
    finish(work);
    result_.name = entry_.name;
    result_.path = out_.string();
    if (options_.pack) {
      pack(work);
      work.write_to(out_, kMarker, marker(plan));
    } else {
      for (PreparedSplit& split : result_.splits) split.open = opened_as(out_);
      work.write_to(work.data(), kMarker, marker(plan));
      work.publish();
    }
  }
  [[nodiscard]] fs::path kept_archives() const {
    fs::path folder = prepare_work_folder(out_);
    return folder.replace_extension(".archives");
  }
  [[nodiscard]] std::string opened_as(const fs::path& folder) const {
    return open_.empty() ? folder.string() : (folder / open_).string();
  }

  // Fills the result from the record of an earlier run.
  bool read_earlier_result(const std::string& plan) {
    const fs::path file = out_ / kMarker;
    if (!fs::exists(file)) {
      const bool free = !fs::exists(out_) || (fs::is_directory(out_) && fs::is_empty(out_));
      if (free || (options_.pack && has_prepare_work(out_, plan))) return false;
      throw Error(ErrorKind::kArgument, "prepare: " + out_.string() +
                                            " exists, but not from an earlier run; use another "
                                            "--out or remove it");
    }
    Json made;
    try {
      made = parse_ordered_json(read_text_file(file));
      if (json_text(made.at("plan"), 1) + "\n" != plan) {
        throw Error(ErrorKind::kArgument, "prepare: " + out_.string() +
                                              " contains another dataset or one prepared with "
                                              "other options; use another --out or remove it");
      }
      result_.name = entry_.name;
      result_.path = out_.string();
      result_.classes = made.at("classes");
      for (const Json& split : made.at("splits")) {
        const std::string below = split.at("open");
        result_.splits.push_back({split.at("name"), split.at("samples"), split.at("unlabelled"),
                                  below.empty() ? out_.string() : (out_ / below).string()});
      }
    } catch (const nlohmann::json::exception& error) {
      throw Error(ErrorKind::kInput, file.string() + ": " + error.what());
    }
    result_.already_there = true;
    result_.packed = options_.pack.has_value();
    // An earlier run was killed after its last step, or left an empty folder.
    if (has_prepare_work(out_, plan)) PrepareFolder(out_, plan).remove();
    std::error_code ignored;  // missing, or not empty: of another run
    fs::remove(prepare_work_folder(out_), ignored);
    return true;
  }
  [[nodiscard]] std::string marker(const std::string& plan) const {
    Json splits = Json::array();
    for (const PreparedSplit& split : result_.splits) {
      const std::string below = fs::path(split.open).lexically_relative(out_).string();
      splits.push_back({{"name", split.name},
                        {"samples", split.samples},
                        {"unlabelled", split.unlabelled},
                        {"open", below == "." ? "" : below}});
    }
    return json_text(Json{{"plan", parse_ordered_json(plan)}, {"classes", result_.classes}, {"splits", splits}}, 1) +
           "\n";
  }

  void take_archive(const PrepareFolder& work, std::size_t index) {
    const PublishedArchive& archive = archives_[index];
    const std::string step = std::to_string(index);
    ArchiveOutcome outcome{.file = archive.file};
    if (work.is_done(step)) {
      outcome.checked = "earlier";
      meter_.skip(archive);
      result_.archives.push_back(outcome);
      return;
    }
    const bool remote = options_.from.empty() || is_url(options_.from);
    const FoundArchive found = remote ? fetch(work, archive, outcome) : find(archive);
    outcome.path = found.path.string();
    outcome.bytes = found.bytes;
    outcome.checked = found.checked;
    meter_.begin(archive, "unpacking " + archive.file, found.bytes);
    const UnpackRules rules{archive.file, archive.member,    archive.inside,
                            archive.each, archive.leave_out, default_unpack_limit(found.bytes)};
    work.do_step(step, archive.to, archive.each, [&](const fs::path& folder) {
      outcome.files = unpack_archive(found.path, rules, folder, advanced(), stop_).files;
    });
    if (remote && !options_.keep_archives) fs::remove(found.path);
    result_.archives.push_back(outcome);
  }
  FoundArchive find(const PublishedArchive& archive) {
    if (!fs::is_directory(options_.from))
      throw Error(ErrorKind::kIo, "prepare " + entry_.name + ": " + options_.from + ": no such folder");
    meter_.begin(archive, "searching " + archive.file, 0);
    meter_.begin(archive, "checking " + archive.file, archive.bytes);
    return find_archive(entry_, archive, options_.from, advanced());
  }
  FoundArchive fetch(const PrepareFolder& work, const PublishedArchive& archive, ArchiveOutcome& outcome) {
    const fs::path folder = options_.keep_archives ? kept_archives() : work.archives();
    const fs::path file = folder / archive.file;
    meter_.begin(archive, "downloading " + archive.file, archive.bytes);
    if (!fs::exists(file)) {
      fs::create_directories(folder);
      const DownloadResult came =
          download(url_of(entry_, archive, options_.from), file, archive.bytes, advanced(), stop_);
      outcome.downloaded = true;
      outcome.resumed_from = came.resumed_from;
    }
    meter_.begin(archive, "checking " + archive.file, archive.bytes);
    try {
      return check_archive(archive, file, advanced());
    } catch (const Error& error) {
      // The download does not match: delete it, so that the next run downloads it again.
      if (error.kind() == ErrorKind::kInput) fs::remove(file);
      throw;
    }
  }
  [[nodiscard]] Advanced advanced() {
    return [this](std::uint64_t bytes) {
      if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, "prepare " + entry_.name + ": stopped");
      meter_.advance(bytes);
    };
  }

  // Converts the layout, then counts the samples as read by the loader.
  void finish(const PrepareFolder& work) {
    meter_.finish("arranging");
    const FinishedLayout layout = finish_layout(entry_.layout, archives_, work.data());
    open_ = layout.open;
    for (const SplitSize& split : splits_) {
      const auto data = open_dataset(opened_as(work.data()), split.name);
      const auto without = layout.unlabelled.find(split.name);
      const std::uint64_t unlabelled = without == layout.unlabelled.end() ? 0 : without->second;
      if (split.samples > 0 && data->size() + unlabelled != split.samples) {
        throw Error(ErrorKind::kInput, fmt::format("prepare {}: split {} has {} samples; expected {} as published",
                                                   entry_.name, split.name, data->size() + unlabelled, split.samples));
      }
      result_.classes = std::max<std::uint64_t>(result_.classes, data->classes().size());
      result_.splits.push_back({split.name, data->size(), unlabelled, ""});
    }
  }
  void pack(const PrepareFolder& work) {
    for (PreparedSplit& split : result_.splits) {
      PackOptions options = *options_.pack;
      options.source_split = split.name;
      const fs::path folder = split.name.empty() ? out_ : out_ / split.name;
      const PackResult packed = run_pack(opened_as(work.data()), folder, options, progress_, stop_);
      split.open = folder.string();
      split.samples = packed.manifest.records();
    }
    result_.packed = true;
  }

  const CatalogueEntry& entry_;
  fs::path out_;
  const PrepareOptions& options_;
  const Progress& progress_;
  std::stop_token stop_;
  std::vector<PublishedArchive> archives_;
  std::vector<SplitSize> splits_;
  Meter meter_;
  std::string open_;  // path to open, relative to the data folder
  PrepareResult result_;
};

}  // namespace

PrepareResult run_prepare(const CatalogueEntry& entry, const fs::path& out, const PrepareOptions& options,
                          const Progress& progress, std::stop_token stop) {
  const fs::path clean = out.has_filename() ? out : out.parent_path();  // "DST/"
  if (clean.empty()) throw Error(ErrorKind::kArgument, "prepare: --out is empty");
  reject_url_as_folder("prepare", out);
  try {
    return Preparation(entry, clean, options, progress, std::move(stop)).run();
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorKind::kIo, "prepare " + entry.name + ": " + error.what());
  }
}

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
  return json_text(Json{{"name", result.name},
                        {"path", result.path},
                        {"classes", result.classes},
                        {"splits", splits},
                        {"archives", archives},
                        {"packed", result.packed},
                        {"already_there", result.already_there}});
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
