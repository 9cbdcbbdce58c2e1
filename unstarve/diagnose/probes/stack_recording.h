#pragma once
// One recording of py-spy in the format of speedscope, and the sum of several.
//
// Source: https://www.speedscope.app/file-format-schema.json, as written by py-spy 0.4: a profile of each thread, named
//         `Process 12 Thread 34 "MainThread"`, with its stacks at equal distances. The first frame is the process.
//         If only one process was recorded, names and stacks do not contain it.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/diagnose/profile/python_stacks.h"

namespace unstarve {

struct RecordedThread {
  int process = 0;
  bool is_main = false;                   // of its process
  std::vector<std::vector<int>> samples;  // indices of StackRecording::lines, the outermost first
};

struct StackRecording {
  double interval_s = 0;  // between two samples
  std::vector<CodeLine> lines;
  std::vector<RecordedThread> threads;
  bool from_start = false;  // of a program that started while it was watched
};

// `process`: that of threads whose names have none. Throws Error(kInput) for text of another form.
[[nodiscard]] StackRecording parse_stack_recording(const std::string& text, int process = 0);

// Sets CodeLine::flushes by the text of the program's own files. `text_of`: the text of a file, or nothing.
void mark_flushes(StackRecording& recording,
                  const std::function<std::optional<std::string>(const std::string& file)>& text_of);

// Adds a frame to stacks that end at a line of the program whose text calls a function of OpenCV or another library in
// C that decodes images or changes them: such calls have no frames of their own.
void add_image_calls(StackRecording& recording,
                     const std::function<std::optional<std::string>(const std::string& file)>& text_of);

enum class RecordingKind {
  kAll,          // all threads, also those that wait
  kWorker,       // all threads of one worker of the loader, also those that wait
  kInterpreter,  // threads that hold the interpreter's lock
};

// Adds up recordings, without the start of the program and without the stacks of the parents of forked processes. The
// start are samples in which threads import modules or wait for the start of all ranks, and, if the program computes
// gradients, those of functions that its main thread executes only before the first gradients. Missing
// samples of the main process are replaced, in its main thread mostly by those of lines that call different functions.
// Memory: of stacks that differ, the 4000 with most time are kept.
class StackSum {
 public:
  // `main_process`: the one that trains. `seconds`: the length of the recording. `end_s`: when it ended, since the
  // beginning. Returns the seconds without the start of the program.
  double add(const StackRecording& recording, int main_process, RecordingKind kind, double seconds, double end_s);
  // That of a worker, which represents all `workers`. Its stacks count as if it had been recorded as long as the main
  // process.
  void add_worker(const StackRecording& recording, int workers, double end_s);
  // Most time first; `missing` is not set.
  [[nodiscard]] PythonStacks stacks() const;
  // As in stacks(): of all threads, without the start of the program.
  [[nodiscard]] double seconds() const { return sum_.seconds; }

 private:
  void limit();
  // Removes what main threads did until now in functions of the program that are not in `training`.
  void drop_start(const std::set<std::string>& training);
  // Returns the seconds of the main thread that are the start of the program.
  double add_stacks(const StackRecording& recording, RecordingKind kind, int main_process, double factor, double end_s);
  PythonStacks sum_;
  double worker_s_ = 0;     // in which workers were recorded
  std::set<int> training_;  // processes of which gradients were seen
};

}  // namespace unstarve
