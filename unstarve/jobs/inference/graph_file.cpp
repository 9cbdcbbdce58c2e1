#include "unstarve/jobs/inference/graph_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/infer/onnx/write_onnx.h"

namespace unstarve {
namespace {

void write_all(const FileDescriptor& file, std::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = ::write(file.get(), contents.data(), contents.size());
    if (written < 0 && errno != EINTR) throw io_error("write", path, errno);
    if (written > 0) contents.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

GraphFile::GraphFile(const infer::Graph& graph) {
  constexpr std::string_view kSuffix = ".onnx";
  const std::string contents = infer::format_onnx(graph);
  std::string name = (std::filesystem::temp_directory_path() / "unstarve-XXXXXX").string().append(kSuffix);
  const FileDescriptor file(::mkostemps(name.data(), static_cast<int>(kSuffix.size()), O_CLOEXEC));
  if (!file.valid()) throw io_error("create", name, errno);
  path_ = name;
  try {
    write_all(file, contents, name);
  } catch (...) {
    ::unlink(name.c_str());
    throw;
  }
}

GraphFile::~GraphFile() { ::unlink(path_.c_str()); }

}  // namespace unstarve
