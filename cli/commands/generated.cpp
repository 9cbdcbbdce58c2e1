#include "shared.h"

namespace unstarve::cli {

Command completion_command() {
  return {"completion",
          "Print the completion script for bash",
          "The script completes commands, options, devices and models. zsh accepts it after bashcompinit.",
          "  source <(unstarve completion)",
          {},
          [](const Arguments&, const std::string&) {
            print_result(bash_completion());
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
