#pragma once
// A notice if the labels of a dataset may be captions: texts that hardly repeat would each be a class.
//
// Threads: as emit_notice(). Failure: none.

#include <cstddef>
#include <cstdint>
#include <string>

namespace unstarve {

// `name`, `format`: of the data. Emits the notice if there are more than 50 texts, in more than half of the records.
void report_captions(const std::string& name, const std::string& format, std::size_t different_texts,
                     std::uint64_t records);

}  // namespace unstarve
