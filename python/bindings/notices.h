#pragma once
// Queues the notices of the library (notice.h) until Python takes them, so that its threads never acquire the GIL.
//
// Threads: all functions are thread-safe.

#include <optional>
#include <string>

namespace unstarve::python {

// Starts queueing all notices, each text once per process.
void queue_notices();
// Queues one notice, even if it is a repetition.
void queue_notice(const std::string& text);
// Cost: one atomic load.
[[nodiscard]] bool has_notice();
// Removes and returns the oldest notice. Cost: one atomic load if there is none.
[[nodiscard]] std::optional<std::string> take_notice();

}  // namespace unstarve::python
