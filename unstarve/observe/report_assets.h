#pragma once
// The parts of the report's page that are files in the source tree: embedded into the library by embed.cmake, so that
// the program needs nothing installed beside it. Ownership: the texts live as long as the program.

#include <string_view>

namespace unstarve {

[[nodiscard]] std::string_view report_style();   // uPlot's style, then ours
[[nodiscard]] std::string_view report_script();  // ours; the body of one function
[[nodiscard]] std::string_view plot_library();   // uPlot: defines the global uPlot
[[nodiscard]] std::string_view plot_licence();   // uPlot's, plain text

}  // namespace unstarve
