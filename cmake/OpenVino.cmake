# OpenVINO's C++ library from the openvino wheel in .venv, or in UNSTARVE_OPENVINO_FOLDER (.../site-packages/openvino):
# sets UNSTARVE_HAS_OPENVINO, UNSTARVE_OPENVINO_VERSION (2026.4), UNSTARVE_OPENVINO_LIBRARY and UNSTARVE_OPENVINO_TBB
# (names of the library and of the TBB that it requires), and defines the target unstarve_libopenvino.
#
# Not used with sanitizers and fuzzing: the library is not instrumented, and no unit test loads it.
set(UNSTARVE_HAS_OPENVINO FALSE)
if(UNSTARVE_OPENVINO STREQUAL "OFF" OR UNSTARVE_SANITIZE OR UNSTARVE_FUZZ)
  return()
endif()

file(GLOB openvino_found ${PROJECT_SOURCE_DIR}/.venv/lib/python3.*/site-packages/openvino)
set(UNSTARVE_OPENVINO_FOLDER "${openvino_found}" CACHE PATH "folder of the package openvino")
if(UNSTARVE_OPENVINO_FOLDER)
  file(GLOB openvino_library ${UNSTARVE_OPENVINO_FOLDER}/libs/libopenvino.so.*)
  file(GLOB openvino_tbb ${UNSTARVE_OPENVINO_FOLDER}/libs/libtbb.so.*)
  list(FILTER openvino_tbb INCLUDE REGEX "\\.so\\.[0-9]+$")
  file(GLOB openvino_metadata ${UNSTARVE_OPENVINO_FOLDER}/../openvino-*.dist-info)
  if(openvino_library AND openvino_tbb AND openvino_metadata AND
     EXISTS ${UNSTARVE_OPENVINO_FOLDER}/include/openvino/openvino.hpp)
    set(UNSTARVE_HAS_OPENVINO TRUE)
    string(REGEX MATCH "openvino-([0-9]+\\.[0-9]+)" openvino_metadata "${openvino_metadata}")
    set(UNSTARVE_OPENVINO_VERSION ${CMAKE_MATCH_1})
    get_filename_component(UNSTARVE_OPENVINO_LIBRARY ${openvino_library} NAME)
    get_filename_component(UNSTARVE_OPENVINO_TBB ${openvino_tbb} NAME)
    add_library(unstarve_libopenvino SHARED IMPORTED)
    set_target_properties(unstarve_libopenvino PROPERTIES
      IMPORTED_LOCATION ${openvino_library} INTERFACE_INCLUDE_DIRECTORIES ${UNSTARVE_OPENVINO_FOLDER}/include)
  endif()
endif()
if(UNSTARVE_OPENVINO STREQUAL "ON" AND NOT UNSTARVE_HAS_OPENVINO)
  message(FATAL_ERROR "UNSTARVE_OPENVINO=ON, but the package openvino was not found: "
                      "run `make setup`, or set UNSTARVE_OPENVINO_FOLDER")
endif()
message(STATUS "unstarve: OpenVINO ${UNSTARVE_HAS_OPENVINO}")
