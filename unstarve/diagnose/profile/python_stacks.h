#pragma once
// Stacks of the watched Python programs: which lines their threads execute, for how long. A part of RunProfile.
//
// They are samples of a few seconds, taken while the program ran. A stack counts the time from its sample to the next.

#include <string>
#include <vector>

namespace unstarve {

struct CodeLine {
  std::string function;
  std::string file;  // relative to the folder of the libraries; of the user's files the name as Python knows it
  int line = 0;
  bool flushes = false;  // a line of the program itself whose text calls fsync(), which has no frame of its own
  friend bool operator==(const CodeLine&, const CodeLine&) = default;
};

enum class StackThread {
  kMain,    // the main thread of the program that trains
  kHelper,  // another thread of it
  kLoader,  // a thread of another process: a worker of the loader
};

struct StackUse {
  StackThread thread = StackThread::kMain;
  std::vector<int> lines;    // indices of PythonStacks::lines, the outermost first
  double seconds = 0;        // also while it waits
  double interpreter_s = 0;  // that it held the interpreter's lock (GIL), of other samples
  double last_s = 0;         // end of the recording in which it was last seen
};

struct PythonStacks {
  std::string missing;       // why there are none; empty: there are
  double seconds = 0;        // in which all stacks were recorded
  double interpreter_s = 0;  // in which those with the interpreter's lock were recorded
  int processes = 0;         // workers of the loader that the recorded ones represent
  std::vector<CodeLine> lines;
  std::vector<StackUse> stacks;  // most time first; limited
};

}  // namespace unstarve
