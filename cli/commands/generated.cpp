#include <algorithm>

#include "../help.h"
#include "../options/shared.h"
#include "../unknown_name.h"
#include "unstarve/core/error.h"

namespace unstarve::cli {

Command help_command() {
  return {"help",
          "Print the help of a command, or of the program",
          "The same as unstarve COMMAND --help.",
          "  unstarve help bench",
          {{.name = "COMMAND",
            .value = "",
            .fallback = "",
            .help = "the command to explain",
            .completes = Completes::kCommand}},
          [](const Arguments& arguments, const std::string&) {
            const std::string name = arguments.text("COMMAND");
            const auto all = commands();
            const auto found = std::ranges::find(all, name, &Command::name);
            if (!name.empty() && found == all.end()) {
              const std::string_view word = name;
              throw Error(ErrorKind::kArgument, "help: " + unknown_name({&word, 1}));
            }
            print_result(name.empty() ? program_help() : command_help(*found));
            return kDone;
          }};
}

Command completion_command() {
  return {"completion",
          "Print the completion script for a shell",
          "The script completes commands, options, devices and models.",
          "  source <(unstarve completion)              # bash, in ~/.bashrc\n"
          "  source <(unstarve completion zsh)          # zsh, in ~/.zshrc after compinit\n"
          "  unstarve completion fish | source          # fish, in ~/.config/fish/config.fish",
          {{.name = "SHELL", .value = "", .fallback = "bash", .help = "bash, zsh or fish", .choices = "bash zsh fish"}},
          [](const Arguments& arguments, const std::string&) {
            const std::string shell = arguments.text("SHELL", "bash");
            if (shell != "bash" && shell != "zsh" && shell != "fish")
              throw Error(ErrorKind::kArgument, "SHELL: found \"" + shell + "\"; expected bash, zsh or fish");
            print_result(shell == "zsh" ? zsh_completion() : shell == "fish" ? fish_completion() : bash_completion());
            return kDone;
          }};
}

Command man_command() {
  return {"man",
          "Print the manual page",
          "Prints the manual page in roff format.",
          "  unstarve man > unstarve.1 && man ./unstarve.1",
          {},
          [](const Arguments&, const std::string&) {
            print_result(man_page());
            return kDone;
          }};
}

}  // namespace unstarve::cli
