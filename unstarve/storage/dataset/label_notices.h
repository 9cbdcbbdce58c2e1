#pragma once
// Notices about labels that are texts, each of which is a class: captions, and several labels in one text.
//
// Threads: as emit_notice(). Failure: none.

#include <cstdint>
#include <span>
#include <string>

namespace unstarve {

// `name`, `format`: of the data; `texts`: the different labels. Emits a notice if there are more than 50, in more than
// half of the records, and one if a text such as "cat, dog" consists of other texts.
void report_text_labels(const std::string& name, const std::string& format, std::span<const std::string> texts,
                        std::uint64_t records);

}  // namespace unstarve
