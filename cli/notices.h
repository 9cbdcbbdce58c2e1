#pragma once
// Prints notices of the libraries (storage/dataset/notice.h) on standard error: the first one immediately, and at
// destruction the number of the others.
//
// Threads: one thread creates and destroys it. At most one object at a time.

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
  std::set<std::string> seen_;  // verbs may open the same data more than once
};

}  // namespace unstarve::cli
