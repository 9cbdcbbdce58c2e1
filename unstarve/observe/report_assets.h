#pragma once
// The style and scripts of the report page, embedded into the library by embed.cmake, so that the program needs no
// installed files.
//
// Ownership: the texts have static storage duration.

#include <string_view>

namespace unstarve {

[[nodiscard]] std::string_view report_style();   // uPlot's style, then ours
[[nodiscard]] std::string_view report_script();  // ours; the body of one function
[[nodiscard]] std::string_view plot_library();   // uPlot: defines the global uPlot
[[nodiscard]] std::string_view plot_licence();   // uPlot's, plain text

}  // namespace unstarve
