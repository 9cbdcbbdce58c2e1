#pragma once
// The notices of the libraries (notice.h) on standard error: the first at once, in one line, and when the verb
// is done how many others there were.
//
// Threads: one makes and destroys it; only one at a time.

#include <cstddef>
#include <set>
#include <string>

namespace unstarve::cli {

class Notices {
 public:
  Notices();
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

 private:
  std::set<std::string> told_;  // verbs open the same data more than once
};

}  // namespace unstarve::cli
