#pragma once
// Collects the faults of a document, so that one error lists all of them.
//
// Threads: one.

#include <algorithm>
#include <string>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {

class Faults {
 public:
  // `kind`: of the errors that are collected.
  explicit Faults(ErrorKind kind = ErrorKind::kInput) : kind_(kind) {}

  // Runs `read`; the message of an Error of `kind` is collected, once.
  template <class Read>
  void collect(Read&& read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.kind() != kind_) throw;
      if (std::find(messages_.begin(), messages_.end(), error.what()) == messages_.end())
        messages_.emplace_back(error.what());
    }
  }
  [[nodiscard]] bool any() const { return !messages_.empty(); }
  // Throws an Error of `kind` with all messages, one per line, if there are any.
  void throw_if_any() const {
    if (messages_.empty()) return;
    std::string all;
    for (const std::string& message : messages_) all += (all.empty() ? "" : "\n") + message;
    throw Error(kind_, all);
  }

 private:
  const ErrorKind kind_;
  std::vector<std::string> messages_;
};

}  // namespace unstarve
