#pragma once
// Notices: what goes wrong without failing anything, such as an index that cannot be kept or a disk cache that is full.
// Libraries never print, so they are told to whoever runs the process.
//
// Threads: both functions may be called by any thread at any time; the sink is called by one at a time, and must not
// tell
//          notices itself, nor throw.

#include <functional>
#include <string>

namespace unstarve {

using NoticeSink = std::function<void(const std::string& text)>;

// The process's sink; an empty one, as in the beginning, drops what is told. Waits for a call of the one before to
// return.
void set_notice_sink(NoticeSink sink);
void emit_notice(const std::string& text);

}  // namespace unstarve
