#include "unstarve/diagnose/probes/py_spy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && !fs::is_directory(path); }

// The last line with a message; py-spy writes several.
std::string message_in(const std::string& text) {
  std::istringstream lines(text);
  std::string message;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Error: ")) line.erase(0, 7);
    const bool is_message = line.find_first_not_of(" \t") != std::string::npos && !line.starts_with("py-spy>") &&
                            !line.starts_with("Reason:");
    if (is_message) message = line;
  }
  return printable(message);
}

std::string message_of(const fs::path& errors) {
  try {
    return message_in(read_text_file(errors));
  } catch (const Error&) {  // it wrote nothing
    return "";
  }
}

}  // namespace

fs::path find_py_spy(const fs::path& python) {
  const char* const chosen = std::getenv("UNSTARVE_PY_SPY");
  if (chosen != nullptr) return chosen;
  std::vector<fs::path> folders{python.parent_path()};
  std::error_code error;
  folders.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
  if (const char* const own = std::getenv("UNSTARVE_PYTHON")) folders.push_back(fs::path(own).parent_path());
  if (const char* const environment = std::getenv("VIRTUAL_ENV")) folders.push_back(fs::path(environment) / "bin");
  if (const char* const path = std::getenv("PATH")) {
    std::istringstream entries(path);
    for (std::string entry; std::getline(entries, entry, ':');) folders.emplace_back(entry);
  }
  for (const fs::path& folder : folders)
    if (!folder.empty() && is_executable(folder / "py-spy")) return folder / "py-spy";
  return {};
}

PySpyRun::PySpyRun(const fs::path& program, const PySpyTask& task)
    : task_(task),
      folder_(kStacksFolder),
      output_(folder_.path() / "stacks.json"),
      messages_(folder_.path() / "messages.txt"),
      errors_(folder_.path() / "errors.txt") {
  if (folder_.path().empty()) throw io_error("create", "temporary folder", errno);
  const std::vector<std::string> command{program.string(),
                                         "record",
                                         "--pid",
                                         std::to_string(task.process),
                                         "--nonblocking",
                                         "--format",
                                         "speedscope",
                                         "--rate",
                                         std::to_string(task.rate),
                                         "--duration",
                                         fmt::format("{:.0f}", task.seconds),
                                         "--output",
                                         output_.string(),
                                         task.only_holder ? "--gil" : "--idle"};
  const FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const FileDescriptor messages(::open(messages_.c_str(), kNew, 0600)), errors(::open(errors_.c_str(), kNew, 0600));
  process_.emplace(command, ChildStreams{nothing.get(), messages.get(), errors.get()});
  start_s_ = seconds_now();
}

PySpyRun::~PySpyRun() { process_.reset(); }

bool PySpyRun::has_ended() {
  // py-spy has read the interpreter's data, which takes some tenths of a second, when it writes its first message.
  std::error_code none;
  if (!begin_s_ && fs::file_size(messages_, none) > 0 && !none) {
    const auto since = fs::file_time_type::clock::now() - fs::last_write_time(messages_, none);
    begin_s_ = seconds_now() - std::max(0.0, std::chrono::duration<double>(since).count());
  }
  return process_->has_ended();
}

void PySpyRun::interrupt() {
  ::kill(process_->id(), SIGINT);
  end_s_ = seconds_now();
}

PySpyResult PySpyRun::end() {
  if (!process_->has_ended()) ::kill(process_->id(), SIGKILL);
  const int status = process_->wait();
  PySpyResult result;
  const double end_s = end_s_.value_or(seconds_now()), begin_s = begin_s_.value_or(start_s_);
  result.seconds = std::clamp(end_s - begin_s, 0.0, task_.seconds);
  result.cpu_s = process_->cpu_s();
  process_.reset();
  try {
    result.recording = parse_stack_recording(read_text_file(output_), task_.process);
  } catch (const Error& error) {
    const std::string text = message_of(errors_);
    result.problem = fmt::format("py-spy failed with exit code {}: {}", status, text.empty() ? error.what() : text);
  }
  folder_.remove();
  return result;
}

}  // namespace unstarve
