#pragma once
// Lines of text between two processes, over two pipes.
//
// Ownership: LinePipe closes its descriptors.
// Threads:   read() by one thread, write() by one thread at a time; both may run concurrently.
// Failure:   the constructors throw Error(kIo). read() and write() return false if the other process has ended.

#include <cstdio>
#include <memory>
#include <string>

#include "unstarve/core/file_descriptor.h"

namespace unstarve {

// A pipe, whose ends children do not inherit.
struct Pipe {
  Pipe();
  FileDescriptor reading, writing;
};

class LinePipe {
 public:
  LinePipe(FileDescriptor in, FileDescriptor out);
  // The next line without its end. A last line without an end is not a line.
  [[nodiscard]] bool read(std::string& line);
  [[nodiscard]] bool write(const std::string& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> in_, out_;
};

}  // namespace unstarve
