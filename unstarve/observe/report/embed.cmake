# Embeds the style and scripts of the report page, and uPlot, into the library as string literals.
#
# Included by the top-level CMakeLists.txt after unstarve_observe exists; run by `cmake -P` at build time to write the
# source file: cmake -DOUT=assets.cpp -DDIR=unstarve/observe/report -P embed.cmake
set(report_styles vendor/uPlot.min.css page/report.css page/tables.css page/charts.css)
set(report_scripts page/svg.js page/ladder.js page/split.js page/utilisation.js page/bars.js page/curves.js
  page/timeline.js page/flame.js page/main.js)

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(report_dir ${PROJECT_SOURCE_DIR}/unstarve/observe/report)
  set(report_assets ${PROJECT_BINARY_DIR}/generated/report_assets.cpp)
  set(report_inputs ${report_styles} ${report_scripts} vendor/uPlot.iife.min.js vendor/LICENSE.uPlot)
  list(TRANSFORM report_inputs PREPEND ${report_dir}/)
  add_custom_command(
    OUTPUT ${report_assets}
    COMMAND ${CMAKE_COMMAND} -DOUT=${report_assets} -DDIR=${report_dir} -P ${report_dir}/embed.cmake
    DEPENDS ${report_inputs} ${report_dir}/embed.cmake
    COMMENT "Embedding the report's page")
  target_sources(unstarve_observe PRIVATE ${report_assets})
  return()
endif()

# A raw string literal with the concatenated text of the files. It is split into pieces of at most 12,000 characters,
# which the compiler joins, to stay below the literal size that every compiler accepts.
function(literal function_name)
  set(all "")
  foreach(name ${ARGN})
    file(READ ${DIR}/${name} text)
    string(APPEND all "${text}\n")
  endforeach()
  string(FIND "${all}" ")~~~~\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${function_name}: the text contains the end delimiter of the raw string literal")
  endif()
  string(LENGTH "${all}" length)
  set(pieces "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${all}" ${at} 12000 piece)
    string(APPEND pieces "R\"~~~~(${piece})~~~~\"\n")
    math(EXPR at "${at} + 12000")
  endwhile()
  file(APPEND ${OUT}.new
    "std::string_view ${function_name}() {\n"
    "  static constexpr std::string_view kText =\n${pieces};\n"
    "  return kText;\n"
    "}\n\n")
endfunction()

file(WRITE ${OUT}.new
  "// Written by embed.cmake; do not edit.\n"
  "#include \"unstarve/observe/report_assets.h\"\n\n"
  "namespace unstarve {\n\n")
literal(report_style ${report_styles})
literal(report_script ${report_scripts})
literal(plot_library vendor/uPlot.iife.min.js)
literal(plot_licence vendor/LICENSE.uPlot)
file(APPEND ${OUT}.new "}  // namespace unstarve\n")
file(RENAME ${OUT}.new ${OUT})
