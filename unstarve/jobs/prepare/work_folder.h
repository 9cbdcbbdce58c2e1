#pragma once
// The folder OUT.partial in which a dataset is prepared, so that a killed run can continue and OUT is complete or
// absent.
//
//   OUT.partial/plan.json        the plan; locked by the running process. A run with another plan fails.
//   OUT.partial/archives/        downloads
//   OUT.partial/steps/3          archive 3, unpacked; 3.unpacking while incomplete; its content is then moved to
//   OUT.partial/data/            the future OUT
//   OUT.partial/done/3           archive 3 is in data/ ("layout": the last step is done)
//
// Threads: one. Failure: Error(kArgument) for a folder with another plan or in use by another run, Error(kIo).

#include <filesystem>
#include <functional>
#include <string>

#include "unstarve/core/file_descriptor.h"

namespace unstarve {

class PrepareFolder {
 public:
  PrepareFolder(const std::filesystem::path& out, const std::string& plan);

  [[nodiscard]] std::filesystem::path archives() const { return path_ / "archives"; }
  [[nodiscard]] std::filesystem::path data() const { return path_ / "data"; }

  [[nodiscard]] bool is_done(const std::string& step) const;
  // Calls `fill` with a temporary folder and moves its content to data()/to. If `fill` fails, the folder is removed;
  // `keep_unfinished`: the next run continues in it.
  void do_step(const std::string& step, const std::string& to, bool keep_unfinished,
               const std::function<void(const std::filesystem::path& folder)>& fill) const;
  void mark_done(const std::string& step) const;

  // After a failure: removes files that no run can continue from, and the folder if it is empty.
  void tidy() const noexcept;
  // Writes a file atomically: in the work folder, then moved to `folder`.
  void write_to(const std::filesystem::path& folder, const std::string& name, const std::string& text) const;
  // Renames data() to OUT; replaces an empty folder OUT.
  void publish() const;
  void remove() const;

 private:
  void resume(const std::string& plan);

  std::filesystem::path out_, path_;
  FileDescriptor lock_;
};

// The work folder for `out`.
[[nodiscard]] std::filesystem::path prepare_work_folder(const std::filesystem::path& out);
// Whether an unfinished run of this plan exists.
[[nodiscard]] bool has_prepare_work(const std::filesystem::path& out, const std::string& plan);

}  // namespace unstarve
