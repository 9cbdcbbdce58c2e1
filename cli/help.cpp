#include "help.h"

#include <fmt/format.h>

#include "unstarve/observe/format.h"

namespace unstarve::cli {
namespace {

constexpr std::size_t kTermColumns = 24;  // width of a command or an option, including blanks

// One entry, "  --seconds S           duration of the measurement [default: 20]", wrapped. The text of a term that is
// too long for its column begins on the next line.
std::string entry(const std::string& term, const std::string& text) {
  constexpr std::size_t kWidth = kTermColumns - 3;
  const std::string wrapped = wrap(text, kHelpColumns, kTermColumns) + "\n";
  if (term.size() > kWidth) return "  " + term + "\n" + std::string(kTermColumns, ' ') + wrapped;
  return "  " + pad_right(term, kWidth) + " " + wrapped;
}

std::string term_of(const Option& option) {
  if (option.several && option.positional()) return fmt::format("{}...", option.name);
  if (option.positional() || option.flag()) return option.name;
  return fmt::format(fmt::runtime(option.value_optional ? "{} [{}]" : "{} {}"), option.name, option.value);
}

std::string text_of(const Option& option) {
  if (option.fallback[0] == '\0') return option.help;
  return fmt::format("{} [default: {}]", option.help, option.fallback);
}

std::string usage_of(const Command& command) {
  std::string usage = fmt::format("unstarve {}", command.name);
  std::string rest;
  for (const Option& option : command.options) {
    if (option.rest)
      rest = fmt::format(" -- {}", option.name);
    else if (option.positional())
      usage += fmt::format(fmt::runtime(option.required ? " {}" : " [{}]"), term_of(option));
    else if (option.required)
      usage += " " + term_of(option);
  }
  return usage + " [OPTIONS]" + rest;
}

std::string entries(const Command& command, const std::string& title, bool positional) {
  std::string text;
  for (const Option& option : command.options)
    if (option.positional() == positional) text += entry(term_of(option), text_of(option));
  if (!positional) text += entry("-h, --help", "print this help");
  return text.empty() ? "" : "\n" + title + ":\n" + text;
}

}  // namespace

std::string program_help() {
  std::string text =
      "Usage: unstarve COMMAND [OPTIONS]\n\nKeeps the accelerator busy: finds the bottleneck, removes it and measures "
      "the gain.\n\nCommands:\n";
  for (const Command& command : commands()) text += entry(command.name, command.summary);
  return text + "\nOptions:\n" + entry("-h, --help", "print this help; unstarve COMMAND --help has examples") +
         entry("--version", "print the version") +
         "\nExample:\n"
         "  unstarve doctor                          # is the machine configured well?\n"
         "  unstarve inspect photos/                 # can all of the data be read?\n"
         "  unstarve bench photos/                   # what is the bottleneck?\n"
         "  unstarve tune photos/ --out tuned.yaml   # which optimisations help?\n"
         "  unstarve train photos/ --config tuned.yaml\n"
         "  unstarve watch -- python train.py        # why is your own program slow?\n\n" +
         wrap("Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 bad input, 4 missing component.", kHelpColumns) +
         "\n";
}

std::string command_help(const Command& command) {
  return "Usage: " + usage_of(command) + "\n\n" + wrap(std::string(command.summary) + ".", kHelpColumns) + "\n\n" +
         wrap(command.description, kHelpColumns) + "\n" + entries(command, "Arguments", true) +
         entries(command, "Options", false) + "\nExample:\n" + command.example + "\n";
}

}  // namespace unstarve::cli
