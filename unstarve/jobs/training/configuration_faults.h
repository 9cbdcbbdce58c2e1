#pragma once
// Collects the errors of a configuration, so that one error lists all of them.
//
// Threads: one.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {

class ConfigurationFaults {
 public:
  // Calls `check` and stores its Error. Returns whether there was none. Errors that are no faults of a configuration
  // (kCancelled, kMemory, kInternal), and other exceptions, are thrown on.
  template <class Check>
  bool collect(Check&& check) {
    try {
      check();
      return true;
    } catch (const Error& error) {
      const ErrorKind kind = error.kind();
      if (kind == ErrorKind::kCancelled || kind == ErrorKind::kMemory || kind == ErrorKind::kInternal) throw;
      add(error);
      return false;
    }
  }
  // Lines that are already there are left out.
  void add(const Error& fault) {
    const std::string text = fault.what();
    std::string lines;
    for (std::size_t begin = 0, end = 0; begin <= text.size(); begin = end + 1) {
      end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      if (lines_.insert(line).second) lines.append(lines.empty() ? "" : "\n").append(line);
    }
    if (!lines.empty()) faults_.emplace_back(fault.kind(), lines);
  }
  [[nodiscard]] bool any() const { return !faults_.empty(); }
  // A single error is thrown as it is, several as one Error with a line each: kArgument if one of them is, else the
  // kind of the first.
  void throw_if_any() const {
    if (faults_.empty()) return;
    if (faults_.size() == 1) throw Error(faults_[0]);
    std::string texts;
    for (const Error& fault : faults_) texts.append(texts.empty() ? "" : "\n").append(fault.what());
    const bool wrong = std::ranges::count(faults_, ErrorKind::kArgument, &Error::kind) > 0;
    throw Error(wrong ? ErrorKind::kArgument : faults_[0].kind(), texts);
  }

 private:
  std::vector<Error> faults_;
  std::set<std::string> lines_;
};

}  // namespace unstarve
