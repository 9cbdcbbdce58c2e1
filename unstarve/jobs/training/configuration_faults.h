#pragma once
// Collects the errors of a configuration, so that one error lists all of them.
//
// Threads: one.

#include <algorithm>
#include <string>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {

class ConfigurationFaults {
 public:
  // Calls `check` and stores its Error. Errors that are no faults of a configuration (kCancelled, kMemory, kInternal),
  // and other exceptions, are thrown on.
  template <class Check>
  void collect(Check&& check) {
    try {
      check();
    } catch (const Error& error) {
      const ErrorKind kind = error.kind();
      if (kind == ErrorKind::kCancelled || kind == ErrorKind::kMemory || kind == ErrorKind::kInternal) throw;
      faults_.push_back(error);
    }
  }
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
};

}  // namespace unstarve
