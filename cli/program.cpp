#include "program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "command.h"
#include "help.h"
#include "host_start.h"
#include "stop_on_signal.h"
#include "terminal.h"
#include "unknown_name.h"
#include "unstarve/core/error.h"
#include "unstarve/core/version.h"
#include "unstarve/infer/engines/engine_process.h"
#include "unstarve/jobs/ladder/subject.h"
#include "unstarve/observe/format.h"
#include "unstarve/ranks/ranks.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve::cli {
namespace {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kArgument: return kWrongUsage;
    case ErrorKind::kInput:
    case ErrorKind::kIo:
    case ErrorKind::kMemory: return kBadInput;
    case ErrorKind::kMissing: return kMissingComponent;
    case ErrorKind::kCheck:
    case ErrorKind::kCancelled:
    case ErrorKind::kInternal: return kCheckFailed;
  }
  return kCheckFailed;
}

// An empty message: another process reports the error.
int report(bool json, const char* kind, const std::string& message, int code) {
  if (!message.empty()) print_error(json, kind, message);
  return code;
}

// Reports an error that probably all processes of a launcher find, such as an argument. The first process prints it and
// ends; then the launcher ends the others while they wait here. Launchers need 0.1 s for that. If the first process
// continues, the error is that of this one alone.
int report_of_all(bool json, const char* kind, const std::string& message, int code) {
  constexpr std::chrono::seconds kWait(2);
  const int rank = rank_of_environment();
  if (rank == 0 || message.empty()) return report(json, kind, message, code);
  std::this_thread::sleep_for(kWait);
  return report(json, kind, fmt::format("rank {}: {}", rank, message), code);
}

// Ctrl-C ends the process immediately: no job leaves a partial file under a final name. Only the progress bar is
// erased.
extern "C" void interrupted(int signal) {
  constexpr char kClear[] = "\r\x1b[K";
  if (isatty(STDERR_FILENO)) (void)!write(STDERR_FILENO, kClear, sizeof kClear - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// The options of one command, bound to strings. CLI11 keeps pointers to the members.
struct Binding {
  const Command* command = nullptr;
  CLI::App* app = nullptr;
  std::map<std::string, std::string> values;
  std::map<std::string, bool> flags;
  std::vector<std::string> several;
  std::map<std::string, CLI::Option*> given;
};

void bind(CLI::App& root, Binding& binding) {
  const Command& command = *binding.command;
  CLI::App* app = root.add_subcommand(command.name);
  app->formatter_fn(
      [&command](const CLI::App*, const std::string&, CLI::AppFormatMode) { return command_help(command); });
  for (const Option& option : command.options) {
    if (option.flag()) {
      binding.given[option.name] = app->add_flag(option.name, binding.flags[option.name]);
      continue;
    }
    if (option.rest) continue;  // split_rest()
    CLI::Option* const added = option.several ? app->add_option(option.name, binding.several)
                                              : app->add_option(option.name, binding.values[option.name]);
    if (option.required) added->required();
    if (option.value_optional) added->expected(0, 1)->default_str("");
    binding.given[option.name] = added;
  }
  binding.app = app;
}

bool has_rest(const Command& command) {
  return std::ranges::any_of(command.options, [](const Option& one) { return one.rest; });
}

// Removes "--" and the words after it from the command line of a command that accepts another one, and returns these
// words: CLI11 would interpret some of them.
std::vector<std::string> split_rest(int& argc, char** argv) {
  std::vector<std::string> rest;
  for (const Command& command : commands()) {
    if (argc < 2 || command.name != std::string_view(argv[1]) || !has_rest(command)) continue;
    for (int i = 2; i < argc; ++i) {
      if (std::string_view(argv[i]) != "--") continue;
      rest.assign(argv + i + 1, argv + argc);
      argc = i;
    }
  }
  return rest;
}

// How often an option is given, as "--name" or "--name=value".
std::ptrdiff_t times_of(std::string_view name, const std::vector<std::string_view>& words) {
  return std::ranges::count_if(words, [&](std::string_view word) { return word.substr(0, word.find('=')) == name; });
}

// The problem of the command line, and the help to read. `rest`: words follow "--".
std::string usage_error(const CLI::ParseError& error, const std::vector<std::string_view>& words,
                        const std::vector<Binding>& bindings, bool rest) {
  std::string wrong = unknown_name(words);
  std::string source = "unstarve --help, or unstarve COMMAND --help";
  for (const Binding& binding : bindings) {
    if (!binding.app->parsed()) continue;
    source = fmt::format("unstarve {} --help", binding.command->name);
    for (const Option& option : binding.command->options)
      if (wrong.empty() && error.get_name() == "ArgumentMismatch" &&
          std::string_view(error.what()).starts_with(std::string(option.name) + ":"))
        wrong = times_of(option.name, words) > 1
                    ? fmt::format("{}: found it {} times; expected once", option.name, times_of(option.name, words))
                    : fmt::format("{}: found no value; expected {}", option.name, option.value);
  }
  if (wrong.empty()) wrong = error.what();
  for (const Binding& binding : bindings)
    if (!rest && binding.app->parsed() && has_rest(*binding.command))
      wrong += fmt::format("; put -- before another command: unstarve {} -- COMMAND", binding.command->name);
  return fmt::format("{}\nRun {}.", wrong, source);
}

// Whether errors of a command line that cannot be parsed are printed as JSON: the value of its last --json.
bool requests_json(const std::vector<std::string_view>& words) {
  constexpr std::string_view kFlag = "--json";
  bool json = false;
  for (const std::string_view word : words) {
    if (word.substr(0, word.find('=')) != kFlag) continue;
    const std::string value(word == kFlag ? "true" : word.substr(kFlag.size() + 1));
    if (!CLI::detail::lexical_cast(value, json)) json = false;
  }
  return json;
}

// What to do with a parsed command line; returns the exit code.
using Use = std::function<int(const Command& command, const Arguments& arguments, const std::string& command_line)>;

// Parses the command line, and reports errors of the parser and of `use`.
int parse(int argc, char** argv, const Use& use) {
  CLI::App app;
  app.name("unstarve");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.formatter_fn([](const CLI::App*, const std::string&, CLI::AppFormatMode) { return program_help(); });
  std::vector<Binding> bindings(commands().size());
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    bindings[i].command = &commands()[i];
    bind(app, bindings[i]);
  }

  std::string command_line = "unstarve";
  for (int i = 1; i < argc; ++i) command_line += " " + shell_quoted(argv[i]);
  const std::vector<std::string> rest = split_rest(argc, argv);

  std::optional<std::string> help;  // requested by --help, or by --version
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream output;
    app.exit(success, output, output);
    help = output.str();
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    return report_of_all(requests_json(words), "argument", usage_error(error, words, bindings, !rest.empty()),
                         kWrongUsage);
  }
  const bool json = std::ranges::any_of(bindings, [](const Binding& one) {
    return one.app->parsed() && one.flags.contains("--json") && one.flags.at("--json");
  });

  const Notices notices;
  try {
    if (help) {
      print_output(*help);
      throw_output_error();
      return kDone;
    }
    for (Binding& binding : bindings) {
      if (!binding.app->parsed()) continue;
      std::map<std::string, std::string> given;
      for (const auto& [name, option] : binding.given) {
        const auto flag = binding.flags.find(name);
        const bool off = flag != binding.flags.end() && !flag->second;  // --name=false
        if (option->count() > 0 && !off) given[name] = flag != binding.flags.end() ? "true" : binding.values[name];
      }
      const std::vector<std::string>& words = binding.several.empty() ? rest : binding.several;
      const int code = use(*binding.command, Arguments(std::move(given), words), command_line);
      throw_output_error();
      return code;
    }
    return kWrongUsage;
  } catch (const Interrupted& error) {
    return report(json, to_string(error.kind()), error.what(), 128 + error.signal());
  } catch (const RankError& error) {
    return report(json, to_string(error.kind()), error.what(), exit_code(error.kind()));
  } catch (const Error& error) {
    return report_of_all(json, to_string(error.kind()), error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report(json, "memory", "out of memory", kBadInput);
  } catch (const std::exception& error) {
    return report(json, "internal", fmt::format("unexpected: {}", error.what()), kCheckFailed);
  }
}

// The standard output under another descriptor; what libraries print to it, for example with ONEDNN_VERBOSE, goes to
// standard error. -1: failed.
int own_output() {
  const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  return output >= 0 && ::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? output : -1;
}

}  // namespace

int run_program(int argc, char** argv, Start start) {
  // A file that is opened later must not become a standard stream that was closed. Writing to the null device fails if
  // it was opened for reading, as it does to a closed stream. Programs that are started have closed streams again.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) (void)!::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::signal(SIGINT, interrupted);
  std::signal(SIGTERM, interrupted);
  // Exceeding a file size limit and writing to a closed pipe become errors of the write.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  if (argc == 2 && std::string_view(argv[1]) == kMeasureCommand) {
    const int answers = own_output();
    return answers < 0 ? kCheckFailed : serve_measurements(STDIN_FILENO, answers);
  }
  if (argc == 3 && std::string_view(argv[1]) == kEngineVerb) {
    const int answers = own_output();
    return answers < 0 ? kCheckFailed : serve_engine(argv[2], STDIN_FILENO, answers);
  }
  const Use run = [&](const Command& command, const Arguments& arguments, const std::string& command_line) {
    const auto host = start == Start::kApplyHostSettings ? host_settings_of(command, arguments) : std::nullopt;
    if (host && !reports_allocator(command, *host)) apply_host_settings(*host, argv);
    return command.run(arguments, command_line);
  };
  const int code = parse(argc, argv, run);
  if (output_is_closed()) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  return code;
}

std::optional<StartEnvironment> start_environment(int argc, char** argv, int& code) {
  std::optional<StartEnvironment> environment;
  code = parse(argc, argv, [&](const Command& command, const Arguments& arguments, const std::string&) {
    const auto host = host_settings_of(command, arguments);
    const bool applies = host && !reports_allocator(command, *host);
    environment = applies ? environment_for(*host, read_host_facts()) : StartEnvironment();
    for (const std::string& text : environment->ignored) emit_notice(text);
    return kDone;
  });
  return environment;
}

}  // namespace unstarve::cli
