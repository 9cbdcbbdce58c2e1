#pragma once
// Progress reports of a job: the command line draws a progress bar from them; other callers may ignore them.
//
// Threads: called from the thread that runs the job. An exception of the callback (a cancelled run) ends the job.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace unstarve {

// `what`: the current activity. `share`: completed part of the whole job, 0..1.
using Progress = std::function<void(std::string_view what, double share)>;

// Reports "120 of 2000 records, 61/s", at most ten times a second, and at the end.
class ItemProgress {
 public:
  // Reports 0 items. Borrows `progress`.
  ItemProgress(const Progress& progress, std::uint64_t items, const char* name);
  void add(std::uint64_t count);

 private:
  void report(std::int64_t now_ns);

  const Progress& progress_;
  std::uint64_t items_, done_ = 0;
  const char* name_;
  std::int64_t start_ns_, reported_ns_ = 0;
};

}  // namespace unstarve
