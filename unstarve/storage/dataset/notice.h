#pragma once
// Notices: problems that do not cause a failure, such as an index that cannot be saved or a full disk cache. Libraries
// never print; a notice goes to the sink of the process.
//
// Threads: both functions may be called concurrently. The sink is called by one thread at a time; it must neither emit
//          notices nor throw.

#include <functional>
#include <string>

namespace unstarve {

using NoticeSink = std::function<void(const std::string& text)>;

// Replaces the sink of the process, after a running call of the previous one has returned. An empty sink, which is the
// default, drops notices.
void set_notice_sink(NoticeSink sink);
void emit_notice(const std::string& text);

}  // namespace unstarve
