#include "unstarve/jobs/prepare/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/common/local_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlan = "plan.json";

// Moves everything from `from` to `to`, merging folders. A repeated call moves the rest.
void move_content(const fs::path& from, const fs::path& to) {
  make_folders(to);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path target = to / entry.path().filename();
    if (entry.is_directory() && fs::is_directory(target)) {
      move_content(entry.path(), target);
    } else {
      rename_to(entry.path(), target);
    }
  }
}

// Syncs all data to disk before a marker file claims that it exists.
void sync_file_system(const fs::path& folder) {
  const FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.valid() || ::syncfs(file.get()) != 0) throw io_error("sync", folder.string(), errno);
}

}  // namespace

fs::path prepare_work_folder(const fs::path& out) {
  fs::path clean = out;
  if (!clean.has_filename()) clean = clean.parent_path();  // "DST/"
  clean += ".partial";
  return clean;
}

bool has_prepare_work(const fs::path& out, const std::string& plan) {
  const fs::path file = prepare_work_folder(out) / kPlan;
  return fs::exists(file) && read_text_file(file) == plan;
}

PrepareFolder::PrepareFolder(const fs::path& out, const std::string& plan)
    : out_(out), path_(prepare_work_folder(out)) {
  if (!out_.has_filename()) out_ = out_.parent_path();
  if (fs::exists(path_)) resume(plan);
  make_folders(path_ / "done");
  lock_ = FileDescriptor(::open((path_ / kPlan).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_.valid()) throw io_error("write", (path_ / kPlan).string(), errno);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw Error(ErrorKind::kArgument, "prepare: another run is using " + path_.string());
  }
  // An existing plan is never rewritten: after a kill in between, the next run could not identify the work.
  if (read_text_file(path_ / kPlan) == plan) return;
  if (::ftruncate(lock_.get(), 0) != 0 ||
      ::pwrite(lock_.get(), plan.data(), plan.size(), 0) != static_cast<ssize_t>(plan.size())) {
    throw io_error("write", (path_ / kPlan).string(), errno);
  }
}

// An empty plan is from a run killed while writing it: nothing else exists yet.
void PrepareFolder::resume(const std::string& plan) {
  const fs::path file = path_ / kPlan;
  const std::string found = fs::exists(file) ? read_text_file(file) : "";
  const bool fresh = found.empty() && (!fs::exists(path_ / "done") || fs::is_empty(path_ / "done"));
  const bool ours = found == plan || (fresh && !fs::exists(data()) && !fs::exists(archives()));
  if (!ours) {
    throw Error(ErrorKind::kArgument, "prepare: " + path_.string() +
                                          " contains work for another dataset or other options; remove it or use "
                                          "another --out");
  }
}

bool PrepareFolder::is_done(const std::string& step) const { return fs::exists(path_ / "done" / step); }

void PrepareFolder::mark_done(const std::string& step) const {
  sync_file_system(path_);
  write_file_atomically(path_ / "done" / step, "");
}

void PrepareFolder::do_step(const std::string& step, const std::string& to, bool keep_unfinished,
                            const std::function<void(const fs::path& folder)>& fill) const {
  if (is_done(step)) return;
  const fs::path whole = path_ / "steps" / step, unfinished = path_ / "steps" / (step + ".unpacking");
  if (!fs::exists(whole)) {
    if (!keep_unfinished) fs::remove_all(unfinished);
    make_folders(unfinished);
    try {
      fill(unfinished);
    } catch (const Error& error) {
      // Remove rejected or incomplete data, except after a stop: the next run continues with it.
      if (!keep_unfinished || error.kind() == ErrorKind::kInput) {
        std::error_code ignored;  // report the first error
        fs::remove_all(unfinished, ignored);
      }
      throw;
    }
    rename_to(unfinished, whole);
  }
  move_content(whole, data() / to);
  mark_done(step);
  fs::remove_all(whole);
}

void PrepareFolder::tidy() const noexcept {
  std::error_code ignored;  // report the first error
  for (const char* part : {"steps", "archives", "data", "done"})
    fs::remove(path_ / part, ignored);  // only empty folders
  const auto begin = fs::directory_iterator(path_, ignored);
  const bool only_plan = !ignored && std::all_of(begin, fs::directory_iterator(), [](const fs::directory_entry& entry) {
    return entry.path().filename() == kPlan;
  });
  if (only_plan) fs::remove_all(path_, ignored);
}

void PrepareFolder::write_to(const fs::path& folder, const std::string& name, const std::string& text) const {
  write_file_atomically(path_ / name, text);
  rename_to(path_ / name, folder / name);
}

void PrepareFolder::publish() const {
  sync_file_system(path_);
  make_folders(fs::absolute(out_).parent_path());
  rename_to(data(), out_);
}

void PrepareFolder::remove() const {
  // The plan is removed last: after a kill in between, the next run can identify the rest.
  const auto remove = [this](const fs::path& entry) {
    std::error_code failed;
    fs::remove_all(entry, failed);
    if (failed) throw io_error("remove", path_.string(), failed.value());
  };
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) entries.push_back(entry.path());
  for (const fs::path& entry : entries)
    if (entry.filename() != kPlan) remove(entry);
  remove(path_ / kPlan);
  remove(path_);
}

}  // namespace unstarve
