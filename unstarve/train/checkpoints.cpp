#include "unstarve/train/checkpoints.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";

// The step number of a checkpoint's file name; nothing for other files.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) || name.size() <= kPrefix.size() + kSuffix.size())
    return {};
  const char* const first = name.data() + kPrefix.size();
  const char* const last = name.data() + name.size() - kSuffix.size();
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(first, last, step);
  if (error != std::errc() || end != last || step < 0) return {};
  return step;
}

// The checkpoints of a folder, newest first.
std::vector<std::pair<std::int64_t, fs::path>> list(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (const auto step = step_of(entry.path().filename().string())) found.emplace_back(*step, entry.path());
  }
  if (error) throw Error(ErrorKind::kIo, fmt::format("list checkpoints {}: {}", folder.string(), error.message()));
  std::ranges::sort(found, std::greater<>());
  return found;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// Files that killed processes of the run have left (core/file.h).
std::vector<fs::path> partial_files(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.find(std::string(kSuffix) + ".partial-") != std::string::npos)
      found.push_back(entry.path());
  }
  return found;
}

void write_to(const CheckpointTargets& targets, const fs::path& in_folder, const TrainSnapshot& snapshot) {
  if (!targets.folder.empty()) {
    std::error_code error;
    fs::create_directories(targets.folder, error);
    if (error)
      throw Error(ErrorKind::kIo, fmt::format("create folder {}: {}", targets.folder.string(), error.message()));
    snapshot.write(in_folder);
    const auto all = list(targets.folder);
    // Files that remain do no harm.
    for (std::size_t i = static_cast<std::size_t>(std::max(targets.keep, 1)); i < all.size(); ++i)
      fs::remove(all[i].second, error);
    for (const fs::path& partial : partial_files(targets.folder)) fs::remove(partial, error);
  }
  if (!targets.file.empty()) snapshot.write(targets.file);
}

}  // namespace

Checkpoints::Checkpoints(CheckpointTargets targets, std::function<void(const std::string&)> notice)
    : targets_(std::move(targets)), notice_(std::move(notice)), newest_(targets_.resumed) {}

Checkpoints::~Checkpoints() = default;

void Checkpoints::write(std::unique_ptr<TrainSnapshot> snapshot, std::int64_t step) {
  collect();
  if (failure_ && failure_->kind() == ErrorKind::kCheck) throw Error(*failure_);
  const fs::path in_folder =
      targets_.folder.empty() ? fs::path() : targets_.folder / fmt::format("{}{:08}{}", kPrefix, step, kSuffix);
  writing_ = targets_.folder.empty() ? targets_.file : in_folder;
  const std::shared_ptr<const TrainSnapshot> kept = std::move(snapshot);
  task_ =
      std::make_unique<BackgroundTask>([targets = targets_, in_folder, kept] { write_to(targets, in_folder, *kept); });
}

void Checkpoints::collect() {
  if (!task_) return;
  const std::unique_ptr<BackgroundTask> task = std::move(task_);
  try {
    (void)task->wait();
    failure_.reset();
    newest_ = writing_;
  } catch (const Error& error) {
    failure_ = error;
    if (notice_ && error.kind() != ErrorKind::kCheck)
      notice_(fmt::format("checkpoint not written: {}; {}", error.what(),
                          newest_.empty() ? "there is no earlier one" : "the newest is " + newest_.string()));
  }
}

void Checkpoints::finish() {
  collect();
  if (failure_) throw Error(*failure_);
}

fs::path Checkpoints::newest() {
  collect();
  return newest_;
}

bool has_checkpoint(const fs::path& folder) { return !list(folder).empty(); }

fs::path newest_checkpoint(const fs::path& folder) {
  const auto all = list(folder);
  if (all.empty())
    throw Error(ErrorKind::kInput,
                fmt::format("resume from {}: no checkpoint; expected a file {}N{}", folder.string(), kPrefix, kSuffix));
  return all.front().second;
}

fs::path weights_file(const fs::path& path) {
  if (std::error_code none; !fs::is_directory(path, none)) return path;
  if (has_checkpoint(path)) return newest_checkpoint(path);
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  throw Error(ErrorKind::kInput, fmt::format("read '{}': found no checkpoint; expected a file {}N{}{}", path.string(),
                                             kPrefix, kSuffix, files.size() == 1 ? ". Pass " + files[0] : ""));
}

std::string how_to_continue(const fs::path& folder) {
  std::error_code none;
  if (folder.empty()) return "There is no checkpoint to continue from: use --checkpoint-dir";
  if (!fs::is_directory(folder, none) || !has_checkpoint(folder))
    return fmt::format("{} has no checkpoint yet to continue from", folder.string());
  return fmt::format("Continue with --resume {}, with any number of ranks; its newest checkpoint is {}",
                     folder.string(), newest_checkpoint(folder).filename().string());
}

fs::path folder_of_resumed(const fs::path& resume) {
  std::error_code none;
  if (resume.empty() || fs::is_directory(resume, none)) return resume;
  if (!fs::exists(resume, none)) return {};
  const fs::path folder = folder_of(resume);
  return has_checkpoint(folder) && fs::equivalent(newest_checkpoint(folder), resume, none) ? folder : fs::path();
}

fs::path checkpoint_to_resume(const fs::path& folder, const fs::path& resume) {
  std::error_code none;
  if (!folder.empty() && fs::is_directory(folder, none) && has_checkpoint(folder) &&
      !fs::equivalent(resume, folder, none)) {
    const fs::path newest = newest_checkpoint(folder);
    if (!fs::equivalent(resume, newest, none))
      throw Error(
          ErrorKind::kArgument,
          fmt::format("checkpoint folder {}: contains {}; expected no checkpoints of another run{}. Continue that run "
                      "with --resume {}, or choose another folder with --checkpoint-dir",
                      folder.string(), newest.filename().string(),
                      fs::exists(resume, none) ? fmt::format(", nor newer ones than {}", resume.string()) : "",
                      folder.string()));
  }
  return fs::is_directory(resume, none) ? newest_checkpoint(resume) : resume;
}

TrainProgress restore_checkpoint(Trainer& trainer, const fs::path& file) {
  try {
    return trainer.restore(file);
  } catch (const Error& error) {
    const std::optional<std::int64_t> step = step_of(file.filename().string());
    if (error.kind() != ErrorKind::kInput || !step) throw;
    for (const auto& [older_step, older] : list(folder_of(file))) {
      if (older_step >= *step) continue;
      try {
        (void)trainer.restore(older);
      } catch (const Error&) {  // the error of `file` is reported
        continue;
      }
      throw Error(ErrorKind::kInput, fmt::format("{}. {} is intact: to continue from it, remove {}", error.what(),
                                                 older.string(), file.string()));
    }
    throw;
  }
}

}  // namespace unstarve
