#include "host_start.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "options/shared.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/host/start_environment.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve::cli {
namespace {

// Its value is the id of a process that was started again; child processes inherit it, but have other ids.
constexpr const char* kStarted = "UNSTARVE_STARTED";

[[noreturn]] void start_again(const Environment& variables, char** argv) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const auto& [name, value] : variables)
    if (::setenv(name.c_str(), value.c_str(), 1) != 0) throw io_error("set variable", name, errno);
  ::execv(program.c_str(), argv);
  throw io_error("start", program, errno);
}

}  // namespace

std::optional<HostSettings> host_settings_of(const Command& command, const Arguments& arguments) {
  const auto is_config = [](const Option& option) { return std::string_view(option.name) == "--config"; };
  if (std::string_view(command.name) == "explain") return std::nullopt;
  if (std::ranges::any_of(command.options, is_config)) {
    try {
      return host_settings_from(arguments);
    } catch (const Error&) {  // the command reads the same file and flags, and lists all faults
      return std::nullopt;
    }
  }
  // `tune` measures other host settings in processes of their own.
  if (std::string_view(command.name) == "tune") return HostSettings();
  return std::nullopt;
}

bool reports_allocator(const Command& command, const HostSettings& settings) {
  constexpr std::array<std::string_view, 3> kTrainers{"train", "lr-find", "batch-find"};
  return std::ranges::find(kTrainers, std::string_view(command.name)) != kTrainers.end() &&
         !missing_allocator(settings.allocator, read_host_facts()).empty();  // their jobs always throw then
}

void apply_host_settings(const HostSettings& settings, char** argv) {
  const HostFacts facts = read_host_facts();
  StartEnvironment start = environment_for(settings, facts);
  if (start.needs_start) {
    const std::string id = std::to_string(::getpid());
    const auto started = facts.user.find(kStarted);
    if (started != facts.user.end() && started->second == id)
      throw Error(ErrorKind::kInternal,
                  fmt::format("host settings: the system dropped {} when it started {}; expected a program without "
                              "special permissions. Use --allocator system --huge-pages false",
                              start.variables.begin()->first, argv[0]));
    start.variables[kStarted] = id;
    start_again(start.variables, argv);
  }
  for (const auto& [name, value] : start.variables) ::setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& text : start.ignored) emit_notice(text);
  require_loaded(settings, facts);
}

}  // namespace unstarve::cli
