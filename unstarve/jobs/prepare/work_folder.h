#pragma once
// The folder OUT.partial in which a data set is prepared, so that a run that was killed goes on and OUT is whole or not
// there.
//
//   OUT.partial/plan.json        what is prepared; locked by the run that does it. Another plan is refused.
//   OUT.partial/archives/        downloads
//   OUT.partial/steps/3          archive 3, unpacked; 3.unpacking while it is not whole; its content then moves to
//   OUT.partial/data/            what becomes OUT
//   OUT.partial/done/3           archive 3 is in data/ ("layout": its last step is done)
//
// Threads: one. Failure: Error(kArgument) for a folder of another plan or another run at it, Error(kIo).

#include <filesystem>
#include <functional>
#include <string>

#include "unstarve/storage/bytes/file_descriptor.h"

namespace unstarve {

class PrepareFolder {
 public:
  PrepareFolder(const std::filesystem::path& out, const std::string& plan);

  [[nodiscard]] std::filesystem::path archives() const { return path_ / "archives"; }
  [[nodiscard]] std::filesystem::path data() const { return path_ / "data"; }

  [[nodiscard]] bool is_done(const std::string& step) const;
  // `fill` is given a folder that is kept only when it returns (`keep_unfinished`: also when it was killed, to go on in
  // it); what lies there then goes to data()/to.
  void do_step(const std::string& step, const std::string& to, bool keep_unfinished,
               const std::function<void(const std::filesystem::path& folder)>& fill) const;
  void mark_done(const std::string& step) const;

  // After a failure: what nobody can go on from goes, and the folder, too, when nothing else is in it.
  void tidy() const noexcept;
  // A file whole or not at all, also where a run is killed: it is written in the work folder and moved to `folder`.
  void write_to(const std::filesystem::path& folder, const std::string& name, const std::string& text) const;
  // data() becomes OUT; an empty folder there is replaced.
  void publish() const;
  void remove() const;

 private:
  void take_up(const std::string& plan);

  std::filesystem::path out_, path_;
  FileDescriptor lock_;
};

// Where the work is done for `out`.
[[nodiscard]] std::filesystem::path prepare_work_folder(const std::filesystem::path& out);
// Whether an earlier run of this very plan left its work.
[[nodiscard]] bool has_prepare_work(const std::filesystem::path& out, const std::string& plan);

}  // namespace unstarve
