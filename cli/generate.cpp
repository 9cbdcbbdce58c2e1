// Generates the manual page from the command table.

#include <fmt/format.h>

#include "command.h"
#include "unstarve/core/version.h"
#include "unstarve/observe/format.h"

namespace unstarve::cli {
namespace {

constexpr std::size_t kColumns = 80;  // of the source, as mandoc -Tlint requires

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

// Text in lines of at most kColumns columns.
std::string paragraph(const std::string& text) { return roff(wrap(text, kColumns - kColumns / 8)); }

}  // namespace

std::string man_page() {
  std::string text = fmt::format(
      ".TH UNSTARVE 1 2026-11-24 \"unstarve {}\" \"User Commands\"\n"
      ".SH NAME\nunstarve \\- keep the accelerator busy: find the bottleneck and remove it\n"
      ".SH SYNOPSIS\n.B unstarve\n.I COMMAND\n[options]\n"
      ".SH DESCRIPTION\nFinds the bottleneck of training and tries optimisations one by one.\n"
      "Each is measured in an interleaved A/B run and kept only if it helps.\n.SH COMMANDS\n",
      kVersion);
  for (const Command& command : commands()) {
    text += fmt::format(".SS unstarve {}", command.name);
    std::string rest;
    for (const Option& option : command.options) {
      if (option.rest) rest = fmt::format(" -- {}", option.name);
      if (option.positional() && !option.rest)
        text +=
            fmt::format(fmt::runtime(option.required ? " {}{}" : " [{}{}]"), option.name, option.several ? "..." : "");
    }
    text +=
        fmt::format(" [options]{}\n{}\n.PP\n{}\n", rest, paragraph(command.summary), paragraph(command.description));
    for (const Option& option : command.options) {
      std::string help = option.help;
      if (option.fallback[0]) help += fmt::format(". Default: {}.", option.fallback);
      text += fmt::format(".TP\n.B {}{}{}\n{}\n", roff(option.name), option.value[0] ? " " : "", option.value,
                          paragraph(help));
    }
    text += fmt::format(".PP\nExample:\n.PP\n.nf\n{}\n.fi\n", roff(command.example));
  }
  text += ".SH EXIT STATUS\n0 done; 1 a check failed; 2 wrong usage; 3 bad input; 4 missing component.\n";
  return text;
}

}  // namespace unstarve::cli
