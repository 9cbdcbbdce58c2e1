#pragma once
// Writes checkpoints while training continues: to a folder that keeps the newest ones, to a file, or to both.
//
//   training ──snapshot()──▶ TrainSnapshot ──low-priority thread──▶ folder/step-00001200.safetensors
//
// A process that is killed at any time leaves the last complete checkpoint: files are written under another name,
// synced and renamed. Older checkpoints of the folder, and partial files, are removed after a newer one is complete.
//
// Threads:   one caller; a thread per write.
// Failure:   a write that fails (disk full) is reported by `notice` and leaves the earlier checkpoint; training
//            continues. finish() throws the error of the last write. No training recovers from NaN or infinity in the
//            state: the next write() or finish() throws Error(kCheck), without a notice.
// Cost:      the snapshot's memory until it is written. write() waits for the write before.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "unstarve/core/background_task.h"
#include "unstarve/core/error.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

struct CheckpointTargets {
  std::filesystem::path folder{};   // created on the first write; empty: none
  std::filesystem::path file{};     // always the newest; empty: none
  int keep = 2;                     // number of checkpoints in the folder
  std::filesystem::path resumed{};  // from which the run continues; empty: none
  [[nodiscard]] bool any() const { return !folder.empty() || !file.empty(); }
};

class Checkpoints {
 public:
  explicit Checkpoints(CheckpointTargets targets, std::function<void(const std::string&)> notice = {});
  ~Checkpoints();  // waits for the last write
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  [[nodiscard]] bool any() const { return targets_.any(); }
  // Starts to write the state after `step` steps.
  void write(std::unique_ptr<TrainSnapshot> snapshot, std::int64_t step);
  // Waits for the last write. Throws its error, Error(kIo) or Error(kCheck), if it failed.
  void finish();
  // The newest complete checkpoint, at first that from which the run continues; empty: none.
  [[nodiscard]] std::filesystem::path newest();

 private:
  void collect();  // waits for the write in progress

  const CheckpointTargets targets_;
  const std::function<void(const std::string&)> notice_;
  std::filesystem::path writing_, newest_;
  std::optional<Error> failure_;  // of the last write
  std::unique_ptr<BackgroundTask> task_;
};

// Whether a folder contains a checkpoint. Throws Error(kIo) if it cannot be read.
[[nodiscard]] bool has_checkpoint(const std::filesystem::path& folder);
// The newest checkpoint in a folder, by its step number. Throws Error(kInput) if there is none, Error(kIo) if the
// folder cannot be read.
[[nodiscard]] std::filesystem::path newest_checkpoint(const std::filesystem::path& folder);
// The file of weights that a user names: `path`, or the newest checkpoint if it is a folder. Throws Error(kInput) for a
// folder without one, Error(kIo) if the folder cannot be read.
[[nodiscard]] std::filesystem::path weights_file(const std::filesystem::path& path);
// What to do after a run with several ranks ended early: how to continue from its folder of checkpoints, "": none.
[[nodiscard]] std::string how_to_continue(const std::filesystem::path& folder);
// The folder for the checkpoints of a run that continues from `resume` and has no other one: `resume`, or the folder of
// which it is the newest checkpoint; "" if it is another file, such as an older checkpoint or weights, or empty.
[[nodiscard]] std::filesystem::path folder_of_resumed(const std::filesystem::path& resume);
// The file from which a run that writes checkpoints to `folder` continues: `resume`, or its newest checkpoint if it is
// a folder; "" if `resume` is empty. Throws Error(kArgument) if `folder` contains checkpoints of another run, or newer
// ones than `resume`.
[[nodiscard]] std::filesystem::path checkpoint_to_resume(const std::filesystem::path& folder,
                                                         const std::filesystem::path& resume);
// trainer.restore(file). If it throws Error(kInput) and an older checkpoint of the same folder can be restored, the
// error names that one.
[[nodiscard]] TrainProgress restore_checkpoint(Trainer& trainer, const std::filesystem::path& file);

}  // namespace unstarve
