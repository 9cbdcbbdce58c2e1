# Arrow C++ with its Parquet library, from the pyarrow wheel in .venv or the one of UNSTARVE_ARROW_PYTHON: sets
# UNSTARVE_HAS_PARQUET, UNSTARVE_ARROW_VERSION (26.0), UNSTARVE_ARROW_INCLUDE, UNSTARVE_ARROW_FOLDER (of the libraries),
# UNSTARVE_ARROW_LIBRARY and UNSTARVE_PARQUET_LIBRARY (their names) and defines the target
# unstarve_libparquet, which links both library files. CMake adds their folder to the run path.
#
# The wheel's libraries are named by version (libarrow.so.2600) and have no CMake package; both must come from one
# wheel. Built for manylinux_2_28: the C++11 ABI of libstdc++, as this build and libtorch's wheel.
set(UNSTARVE_HAS_PARQUET FALSE)
if(UNSTARVE_PARQUET STREQUAL "OFF")
  return()
endif()

file(GLOB UNSTARVE_ARROW_PYTHON_FOUND ${PROJECT_SOURCE_DIR}/.venv/bin/python)
set(UNSTARVE_ARROW_PYTHON "${UNSTARVE_ARROW_PYTHON_FOUND}" CACHE FILEPATH "the Python whose pyarrow is built against")
set(arrow_paths)
if(UNSTARVE_ARROW_PYTHON)
  execute_process(
    COMMAND ${UNSTARVE_ARROW_PYTHON} -c "import pyarrow as pa
print(*pa.__version__.split('.')[:2], pa.get_include(), *pa.get_library_dirs(), sep=';')"
    OUTPUT_VARIABLE arrow_paths OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(arrow_paths)
  list(POP_FRONT arrow_paths major minor arrow_include)
  foreach(name arrow parquet)
    set(${name}_library)
    foreach(folder ${arrow_paths})
      file(GLOB found ${folder}/lib${name}.so.*)
      list(FILTER found INCLUDE REGEX "\\.so\\.[0-9]+$")
      list(APPEND ${name}_library ${found})
    endforeach()
  endforeach()
  list(LENGTH arrow_library arrows)
  list(LENGTH parquet_library parquets)
  if(arrows EQUAL 1 AND parquets EQUAL 1 AND EXISTS ${arrow_include}/parquet/file_reader.h)
    set(UNSTARVE_HAS_PARQUET TRUE)
    add_library(unstarve_libarrow SHARED IMPORTED)
    set_target_properties(unstarve_libarrow PROPERTIES IMPORTED_LOCATION ${arrow_library} IMPORTED_NO_SONAME FALSE)
    add_library(unstarve_libparquet SHARED IMPORTED)
    set_target_properties(unstarve_libparquet PROPERTIES
      IMPORTED_LOCATION ${parquet_library}
      INTERFACE_LINK_LIBRARIES unstarve_libarrow)
    set(UNSTARVE_ARROW_INCLUDE ${arrow_include})
    set(UNSTARVE_ARROW_VERSION ${major}.${minor})
    get_filename_component(UNSTARVE_ARROW_FOLDER ${arrow_library} DIRECTORY)
    get_filename_component(UNSTARVE_ARROW_LIBRARY ${arrow_library} NAME)
    get_filename_component(UNSTARVE_PARQUET_LIBRARY ${parquet_library} NAME)
  endif()
endif()
if(UNSTARVE_PARQUET STREQUAL "ON" AND NOT UNSTARVE_HAS_PARQUET)
  message(FATAL_ERROR "UNSTARVE_PARQUET=ON, but no pyarrow with its C++ libraries was found: "
                      "run `make setup`, or set UNSTARVE_ARROW_PYTHON")
endif()
message(STATUS "unstarve: Parquet ${UNSTARVE_HAS_PARQUET}")
