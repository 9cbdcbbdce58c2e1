#pragma once
// The library's notices (notice.h), kept until Python asks for them: threads of the library never take the GIL.
//
// Threads: all of them by any thread.

#include <optional>
#include <string>

namespace unstarve::python {

// From now on what is told is kept, each text once in the life of the process.
void keep_notices();
// Keeps one text more, also one that was told before.
void keep_notice(const std::string& text);
// The oldest that was not taken. Cost: a look at an atomic when there is none.
[[nodiscard]] std::optional<std::string> take_notice();

}  // namespace unstarve::python
