#pragma once
// py-spy, a program that records the stacks of a Python process: where it is, and one recording by it.
//
// py-spy does not stop the program to read its memory; samples that it cannot read are left out. It does not search
// for workers: it would read the parents of all processes of the machine several times per second, which costs more
// than the samples.
//
// Ownership: a PySpyRun owns the process and three temporary files; the destructor ends and removes them.
// Threads:   one at a time.

#include <filesystem>
#include <optional>
#include <string>

#include "unstarve/core/process/child_process.h"
#include "unstarve/core/temporary_folder.h"
#include "unstarve/diagnose/probes/stack_recording.h"

namespace unstarve {

// py-spy of the environment variable UNSTARVE_PY_SPY, next to `python` (the interpreter as it was called), next to this
// program, in the environment of UNSTARVE_PYTHON or VIRTUAL_ENV, or on PATH; empty: none.
[[nodiscard]] std::filesystem::path find_py_spy(const std::filesystem::path& python);

inline constexpr const char* kStacksFolder = "unstarve-stacks";  // TemporaryFolder

struct PySpyTask {
  int process = 0;
  double seconds = 0;
  int rate = 0;              // samples per second
  bool only_holder = false;  // only the thread that holds the interpreter's lock, instead of all threads
};

struct PySpyResult {
  std::optional<StackRecording> recording;
  double seconds = 0;   // its length, without the start of py-spy
  std::string problem;  // why there is no recording
  double cpu_s = 0;     // that py-spy has used
};

class PySpyRun {
 public:
  // Throws Error if `program` cannot be started.
  PySpyRun(const std::filesystem::path& program, const PySpyTask& task);
  ~PySpyRun();
  PySpyRun(const PySpyRun&) = delete;
  PySpyRun& operator=(const PySpyRun&) = delete;

  [[nodiscard]] int id() const { return process_->id(); }
  // Call it several times per second: it notices when the recording begins.
  [[nodiscard]] bool has_ended();
  // py-spy ends soon, and writes what it has recorded.
  void interrupt();
  // Ends py-spy if it has not ended. Call it once, and nothing afterwards. Only std::bad_alloc is thrown.
  [[nodiscard]] PySpyResult end();

 private:
  PySpyTask task_;
  TemporaryFolder folder_;
  std::filesystem::path output_, messages_, errors_;
  std::optional<ChildProcess> process_;
  // Of CLOCK_MONOTONIC.
  double start_s_ = 0;
  std::optional<double> begin_s_, end_s_;  // of the recording, if they are known
};

}  // namespace unstarve
