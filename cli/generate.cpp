// Generates the shell completion and the manual page from the command table.

#include <fmt/format.h>

#include "command.h"
#include "unstarve/core/version.h"
#include "unstarve/observe/accelerator.h"
#include "unstarve/train/trainer.h"

namespace unstarve::cli {
namespace {

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

// Escapes text for roff: a leading dot or quote is a request, a backslash begins an escape.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_start = c == '\n';
  }
  return out;
}

}  // namespace

std::string bash_completion() {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : " ") + std::string(command.name);
  std::string text =
      "# bash completion for unstarve; load it with:  source <(unstarve completion)\n"
      "_unstarve() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}\n"
      "  # bash splits words at colons; join emulated:NAME again\n"
      "  if [[ $before == : && $COMP_CWORD -ge 2 ]]; then word=${COMP_WORDS[COMP_CWORD-2]}:$word; "
      "before=${COMP_WORDS[COMP_CWORD-3]}; fi\n"
      "  if [[ $word == : ]]; then word=$before:; before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  local candidates\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W \"" +
      names +
      " --help --version\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case $verb:$before in\n";
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
  text += "  esac\n  case $verb in\n";
  for (const Command& command : commands()) {
    std::string flags = "--help";
    for (const Option& option : command.options)
      if (!option.positional()) flags += std::string(" ") + option.name;
    text += fmt::format("    {}) candidates=\"{}\" ;;\n", command.name, flags);
  }
  text +=
      "  esac\n"
      "  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$candidates\" -- \"$word\"));\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
      "}\n"
      "complete -o filenames -F _unstarve unstarve\n";
  return text;
}

std::string man_page() {
  std::string text = fmt::format(
      ".TH UNSTARVE 1 \"\" \"unstarve {}\" \"User Commands\"\n"
      ".SH NAME\nunstarve \\- keep the accelerator busy: find the bottleneck, remove it, measure the gain\n"
      ".SH SYNOPSIS\n.B unstarve\n.I COMMAND\n[options]\n"
      ".SH DESCRIPTION\nFinds the bottleneck of training and tries optimisations one by one. Each is measured in an "
      "interleaved A/B run and kept only if it helps.\n.SH COMMANDS\n",
      kVersion);
  for (const Command& command : commands()) {
    text += fmt::format(".SS unstarve {}", command.name);
    for (const Option& option : command.options)
      if (option.positional()) text += fmt::format(fmt::runtime(option.required ? " {}" : " [{}]"), option.name);
    text += fmt::format(" [options]\n{}\n.PP\n{}\n", roff(command.summary), roff(command.description));
    for (const Option& option : command.options) {
      text += fmt::format(".TP\n.B {}{}{}\n{}", roff(option.name), option.value[0] ? " " : "", option.value,
                          roff(option.help));
      if (option.fallback[0]) text += fmt::format(" Default: {}.", roff(option.fallback));
      text += "\n";
    }
    text += fmt::format(".PP\nExample:\n.PP\n.nf\n{}\n.fi\n", roff(command.example));
  }
  text += ".SH EXIT STATUS\n0 done; 1 a check failed; 2 wrong usage; 3 bad input; 4 missing component.\n";
  return text;
}

}  // namespace unstarve::cli
