#pragma once
// The command table: every command with its options and help. The parser, --help, the manual page and the shell
// completion are generated from it, so that they always agree.
//
// Commands are thin: they parse options, call a job and print the result.
// Threads: one. Failure: Error, which main() maps to an exit code.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve::cli {

// Exit codes.
inline constexpr int kDone = 0, kCheckFailed = 1, kWrongUsage = 2, kBadInput = 3, kMissingComponent = 4;

// What the shell completes for a value.
enum class Completes { kNothing, kPath, kDevice, kModel, kCommand };

struct Option {
  const char* name;      // "--seconds", or "DATA" for a positional argument
  const char* value;     // "S"; empty for a flag and for positional arguments
  const char* fallback;  // shown as the default; empty if there is none
  const char* help;
  bool required = false;
  Completes completes = Completes::kNothing;
  const char* choices = "";     // values that the shell completes, separated by blanks
  bool rest = false;            // positional: all words after "--", the command line of another program
  bool several = false;         // one or more values; a positional one is shown as "NAME..."
  bool value_optional = false;  // without a value it is ""
  [[nodiscard]] bool positional() const { return name[0] != '-'; }
  [[nodiscard]] bool flag() const { return !positional() && value[0] == '\0'; }
};

// The values on the command line, by option name, with typed access.
class Arguments {
 public:
  explicit Arguments(std::map<std::string, std::string> values, std::vector<std::string> rest = {})
      : values_(std::move(values)), rest_(std::move(rest)) {}
  // The words after "--", or those of the only argument or option with `several`.
  [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }
  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback = "") const;
  // Throws Error(kArgument) if the value is not a number in [low, high].
  [[nodiscard]] double number(const std::string& name, double fallback, double low, double high) const;
  // A size with its unit, such as "500MB" or "1.5GiB", in units of 10^6 bytes, rounded down. Throws Error(kArgument)
  // for values outside of [1, 2^40] and for a number without unit.
  [[nodiscard]] std::uint64_t megabytes(const std::string& name, std::uint64_t fallback) const;
  // A time of 0.1 s or more with its unit: "30s", "5min", "1h". Throws Error(kArgument).
  [[nodiscard]] double seconds(const std::string& name, double fallback) const;
  // Numbers separated by commas. Throws Error(kArgument).
  [[nodiscard]] std::vector<double> numbers(const std::string& name) const;
  // The same values but that of `name`.
  [[nodiscard]] Arguments without(const std::string& name) const;
  [[nodiscard]] long long integer(const std::string& name, long long fallback, long long low, long long high) const;

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> rest_;
};

// An error of one rank alone, whose message names it. Other errors are taken for those of all ranks.
class RankError : public Error {
 public:
  using Error::Error;
};

struct Command {
  const char* name;
  const char* summary;      // one line
  const char* description;  // one paragraph
  const char* example;      // command lines for copy and paste
  std::vector<Option> options;
  int (*run)(const Arguments& arguments, const std::string& command_line);
};

// All commands, in the order of the help.
[[nodiscard]] std::span<const Command> commands();

// Each is defined in its own file in commands/.
[[nodiscard]] Command bench_command();
[[nodiscard]] Command capacity_command();
[[nodiscard]] Command tune_command();
[[nodiscard]] Command train_command();
[[nodiscard]] Command export_command();
[[nodiscard]] Command compress_command();
[[nodiscard]] Command lr_find_command();
[[nodiscard]] Command batch_find_command();
[[nodiscard]] Command infer_command();
[[nodiscard]] Command models_command();
[[nodiscard]] Command inspect_command();
[[nodiscard]] Command explain_command();
[[nodiscard]] Command pack_command();
[[nodiscard]] Command verify_command();
[[nodiscard]] Command index_command();
[[nodiscard]] Command datasets_command();
[[nodiscard]] Command prepare_command();
[[nodiscard]] Command synth_command();
[[nodiscard]] Command doctor_command();
[[nodiscard]] Command watch_command();
[[nodiscard]] Command compare_command();
[[nodiscard]] Command diagnose_command();
[[nodiscard]] Command demo_command();
[[nodiscard]] Command help_command();
[[nodiscard]] Command completion_command();
[[nodiscard]] Command man_command();

// Generated from the table: the completion scripts, and the manual page in roff.
[[nodiscard]] std::string bash_completion();
[[nodiscard]] std::string zsh_completion();
[[nodiscard]] std::string fish_completion();
[[nodiscard]] std::string man_page();

}  // namespace unstarve::cli
