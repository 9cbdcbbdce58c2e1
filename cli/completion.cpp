// Generates the completion scripts of bash, zsh and fish from the command table.

#include <fmt/format.h>

#include "command.h"
#include "unstarve/observe/accelerator.h"
#include "unstarve/train/trainer.h"

namespace unstarve::cli {
namespace {

std::string command_names() {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : " ") + std::string(command.name);
  return names;
}

std::string devices() {
  std::string words = "cpu cuda";
  for (const AcceleratorModel& model : accelerator_models()) words += " emulated:" + std::string(model.name);
  return words;
}

std::string models() {
  std::string words;
  for (const ModelInfo& model : model_infos()) words += (words.empty() ? "" : " ") + std::string(model.name);
  return words;
}

// The values that the shell offers for an option or an argument, separated by blanks; empty for none or files.
std::string values_of(const Option& option) {
  if (option.choices[0] != '\0') return option.choices;
  if (option.completes == Completes::kModel) return models();
  if (option.completes == Completes::kDevice) return devices();
  return option.completes == Completes::kCommand ? command_names() : "";
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// In single quotes of a shell.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string bash_completion() {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : " ") + std::string(command.name);
  std::string text =
      "# bash completion for unstarve; load it with:  source <(unstarve completion)\n"
      "_unstarve() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  # bash splits words at colons; join emulated:NAME again\n"
      "  if [[ $before == : && $COMP_CWORD -ge 2 ]]; then word=${COMP_WORDS[COMP_CWORD-2]}:$word; "
      "before=${COMP_WORDS[COMP_CWORD-3]}; fi\n"
      "  if [[ $word == : ]]; then word=$before:; before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  local candidates values\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W \"" +
      names +
      " --help --version\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case $command:$before in\n";
  for (const Command& command : commands()) {
    for (const Option& option : command.options) {
      if (option.positional() || option.flag()) continue;
      const std::string at = fmt::format("    {}:{}) ", command.name, option.name);
      if (option.choices[0] != '\0')
        text += at + fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n", option.choices);
      if (option.completes == Completes::kPath) text += at + "COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
      if (option.completes == Completes::kModel)
        text += at + fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n", models());
      if (option.completes == Completes::kDevice)
        text += at + fmt::format(
                         "COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); "
                         "COMPREPLY=(\"${{COMPREPLY[@]#${{word%\"${{word##*:}}\"}}}}\"); return ;;\n",
                         devices());
    }
  }
  text += "  esac\n  case $command in\n";
  for (const Command& command : commands()) {
    std::string flags = "--help", values;
    for (const Option& option : command.options)
      (option.positional() ? values : flags) +=
          option.positional() ? values_of(option) : std::string(" ") + option.name;
    text += fmt::format("    {}) candidates=\"{}\" values=\"{}\" ;;\n", command.name, flags, values);
  }
  text +=
      "  esac\n"
      "  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$candidates\" -- \"$word\"));\n"
      "  elif [[ -n $values ]]; then COMPREPLY=($(compgen -W \"$values\" -- \"$word\"));\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
      "}\n"
      "complete -o filenames -F _unstarve unstarve\n";
  return text;
}

// Each command is one call of _arguments: "--name[help]:value:action".
std::string zsh_completion() {
  std::string text =
      "#compdef unstarve\n# zsh completion for unstarve; load it with:  source <(unstarve completion zsh)\n"
      "_unstarve() {\n  local -a names\n  names=(\n";
  for (const Command& command : commands())
    text += "    " + in_quotes(fmt::format("{}:{}", command.name, command.summary)) + "\n";
  text +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command names\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const Command& command : commands()) {
    text += fmt::format("    {})\n      _arguments '--help[print the help]'", command.name);
    int position = 0;
    for (const Option& option : command.options) {
      const std::string values = values_of(option);
      const bool file = values.empty() && (option.positional() || option.completes == Completes::kPath);
      const std::string action = file ? "_files" : values.empty() ? " " : "(" + escaped(values, ":") + ")";
      if (option.rest)
        text += " \\\n        '*::command:_normal'";
      else if (option.several && option.positional())
        text += " \\\n        " + in_quotes(fmt::format("*::{}:{}", option.name, action));
      else if (option.positional())
        text += " \\\n        " + in_quotes(fmt::format("{}::{}:{}", ++position, option.name, action));
      else
        text +=
            " \\\n        " + in_quotes(fmt::format("{}[{}]{}", option.name, escaped(option.help, "[]:\\"),
                                                    option.flag() ? "" : fmt::format(":{}:{}", option.value, action)));
    }
    text += "\n      ;;\n";
  }
  return text + "  esac\n}\n(( $+functions[compdef] )) && compdef _unstarve unstarve\n";
}

std::string fish_completion() {
  std::string text =
      "# fish completion for unstarve; load it with:  unstarve completion fish | source\n"
      "complete -c unstarve -n __fish_use_subcommand -f\n"
      "complete -c unstarve -s h -l help -d 'print the help'\n";
  for (const Command& command : commands()) {
    text += fmt::format("complete -c unstarve -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        in_quotes(command.summary));
    for (const Option& option : command.options) {
      const std::string values = values_of(option);
      const std::string seen = fmt::format("complete -c unstarve -n '__fish_seen_subcommand_from {}'", command.name);
      const std::string choices = values.empty() ? "" : " -a " + in_quotes(values);
      if (option.positional()) {
        if (!values.empty()) text += seen + " -f" + choices + "\n";
        continue;
      }
      const char* const takes = option.flag() ? "" : option.completes == Completes::kPath ? " -r -F" : " -x";
      text += fmt::format("{} -l {}{}{} -d {}\n", seen, option.name + 2, takes, choices, in_quotes(option.help));
    }
  }
  return text;
}

}  // namespace unstarve::cli
