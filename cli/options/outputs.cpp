#include "outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/common/chrome_trace.h"
#include "unstarve/jobs/dawnbench.h"
#include "unstarve/jobs/tensorboard/event_file.h"
#include "unstarve/jobs/training/configuration_faults.h"

namespace unstarve::cli {
namespace {

// The error of creating a file in a folder; 0: none. access() does not find every error: root has access to /proc.
int error_of_creation(const std::filesystem::path& folder) {
  const std::string file = (folder / fmt::format(".unstarve-{}", ::getpid())).string();
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return errno == EEXIST ? 0 : errno;  // of a rank on another host
  ::close(descriptor);
  ::unlink(file.c_str());
  return 0;
}

// The error of replacing a file, or of writing to a device or pipe; 0: none.
int error_of_writing(const std::filesystem::path& file) {
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(file, none);
  if (std::filesystem::is_directory(status)) return EISDIR;
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return ::access(file.c_str(), W_OK) == 0 ? 0 : errno;
  // The target of a link is replaced.
  const std::filesystem::path path = std::filesystem::absolute(file);
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, none);
  return error_of_creation((none ? path : target).parent_path());
}

// --out may be the file from which a run continues, or settings that are tuned again; export checks its MODEL.
void check_no_input(const Arguments& arguments, const std::string& option, const std::filesystem::path& file) {
  std::vector<std::string> inputs = arguments.rest();
  for (const char* const input : {"DATA", "BEFORE", "AFTER", "--weights", "--data", "--val"})
    if (arguments.has(input)) inputs.push_back(arguments.text(input));
  if (option != "--out") {
    for (const char* const input : {"MODEL", "--resume", "--config"})
      if (arguments.has(input)) inputs.push_back(arguments.text(input));
  } else {
    std::erase_if(inputs, [](const std::string& input) { return std::filesystem::path(input).extension() == ".yaml"; });
  }
  for (const std::string& input : inputs) {
    // A name before the path, as in "net=w.safetensors", and the options of a dataset, as in "d.parquet#label=x".
    for (const std::string& path : {input, input.substr(input.find('=') + 1), input.substr(0, input.find('#'))}) {
      std::error_code none;
      if (std::filesystem::equivalent(file, path, none))
        throw Error(ErrorKind::kArgument, fmt::format("{}: found {}, which this command reads; expected another file",
                                                      option, file.string()));
    }
  }
}

using OutputFiles = std::map<std::filesystem::path, std::string>;  // regular files, and their options

// Adds `file` to those that are `seen`.
void check_output(const Arguments& arguments, const std::string& option, const std::filesystem::path& file,
                  OutputFiles& seen) {
  if (const int error = error_of_writing(file); error != 0) throw io_error(option + ": write", file.string(), error);
  check_no_input(arguments, option, file);
  std::error_code none;
  if (std::filesystem::exists(file, none) && !std::filesystem::is_regular_file(file, none)) return;
  const auto [same, added] =
      seen.emplace(std::filesystem::weakly_canonical(std::filesystem::absolute(file), none), option);
  if (!added)
    throw Error(ErrorKind::kArgument, fmt::format("{}: found {}, the file of {}; expected another file", option,
                                                  file.string(), same->second));
}

}  // namespace

void check_outputs(const Arguments& arguments, const std::vector<const char*>& options) {
  OutputFiles seen;
  ConfigurationFaults faults;
  for (const char* const option : options) {
    if (!arguments.has(option)) continue;
    faults.collect([&] {
      const std::filesystem::path named = arguments.text(option);
      if (named.empty())
        throw Error(ErrorKind::kArgument, fmt::format("{}: found an empty name; expected a file", option));
      if (std::string_view(option) != "--dawnbench") return check_output(arguments, option, named, seen);
      for (const std::filesystem::path& file : dawnbench_files(named)) check_output(arguments, option, file, seen);
    });
  }
  faults.throw_if_any();
}

void check_output_folder(const std::string& option, const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code none;
  std::filesystem::path existing = std::filesystem::absolute(folder).lexically_normal();
  while (!std::filesystem::exists(existing, none) && existing.has_relative_path()) existing = existing.parent_path();
  const int error = std::filesystem::is_directory(existing, none) ? error_of_creation(existing) : ENOTDIR;
  if (error != 0) throw io_error(option + ": write to folder", folder.string(), error);
}

void check_output_folder(const Arguments& arguments, const char* option, const char* fallback) {
  if (arguments.has(option) && arguments.text(option).empty())
    throw Error(ErrorKind::kArgument, fmt::format("{}: found an empty name; expected a folder", option));
  check_output_folder(option, arguments.text(option, fallback));
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) throw io_error("create the folder", folder.string(), error.value());
}

void check_measurement_files(const Arguments& arguments, std::vector<const char*> more) {
  more.insert(more.end(), {"--report", "--trace"});
  check_outputs(arguments, more);
  check_output_folder(arguments, "--tensorboard");
}

void write_measurement_files(const Arguments& arguments, const Recording& recording, Report report) {
  if (arguments.has("--trace")) write_file_atomically(arguments.text("--trace"), chrome_trace(recording));
  if (arguments.has("--tensorboard")) write_recording_events(arguments.text("--tensorboard"), recording);
  if (arguments.has("--report")) write_report_file(arguments, std::move(report));
}

void write_report_file(const Arguments& arguments, Report report) {
  if (arguments.has("--trace")) add_trace_link(report, arguments.text("--report"), arguments.text("--trace"));
  write_report(report, arguments.text("--report"));
}

}  // namespace unstarve::cli
