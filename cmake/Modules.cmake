# Modules that the program and the Python extension load at run time (unstarve/core/module_loader.h):
#
#   libunstarve_torch.so      torch/ and models/ with libtorch: training, the importer of models, and an engine
#   libunstarve_arrow.so      storage/formats/parquet/arrow_*.cpp with Arrow C++
#   libunstarve_openvino.so   infer/engines/openvino_engine.cpp with OpenVINO
#   libunstarve_mpi.so        ranks/module.cpp with MPI
#   libunstarve_cupti.so      diagnose/cupti/module.cpp, which CUDA and NVTX load into programs that watch starts
#
# They are located by the run path: the top of the build folder, or UNSTARVE_MODULE_FOLDER of an installation. A module
# contains the parts of core/ that it uses and exports one function, or two (cmake/module.map).
include(GNUInstallDirs)
if(DEFINED SKBUILD)  # in the Python package
  set(UNSTARVE_PROGRAM_FOLDER unstarve/bin)
  set(UNSTARVE_MODULE_FOLDER unstarve/lib)
else()
  set(UNSTARVE_PROGRAM_FOLDER ${CMAKE_INSTALL_BINDIR})
  set(UNSTARVE_MODULE_FOLDER ${CMAKE_INSTALL_LIBDIR}/unstarve)
endif()
set(CMAKE_BUILD_RPATH $ORIGIN $ORIGIN/.. $ORIGIN/../..)  # build/, build/bench, build/python/unstarve
file(RELATIVE_PATH from_program /prefix/${UNSTARVE_PROGRAM_FOLDER} /prefix/${UNSTARVE_MODULE_FOLDER})
set(UNSTARVE_PROGRAM_RPATH $ORIGIN/${from_program})
if(NOT DEFINED SKBUILD)  # a wheel has the interpreter that runs it
  set_source_files_properties(unstarve/core/module_loader.cpp PROPERTIES
    COMPILE_DEFINITIONS "UNSTARVE_SOURCE_PYTHON=\"${PROJECT_SOURCE_DIR}/.venv/bin/python\"")
endif()

# unstarve_module_stamp(OUT HEADER): the stamp that both sides compare: the version, and a digest of the compiler and of
# every header that HEADER includes, which describe what crosses the boundary.
function(unstarve_module_stamp out header)
  set(headers ${header})
  set(text "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  set(seen)
  while(headers)
    list(POP_FRONT headers next)
    if(next IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${next})
    file(READ ${PROJECT_SOURCE_DIR}/${next} content)
    string(APPEND text "${content}")
    string(REGEX MATCHALL "#include \"unstarve/[^\"]+\"" includes "${content}")
    list(TRANSFORM includes REPLACE "#include \"([^\"]+)\"" "\\1")
    list(APPEND headers ${includes})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${next})
  endwhile()
  string(SHA256 digest "${text}")
  string(SUBSTRING ${digest} 0 12 digest)
  set(${out} "UNSTARVE_MODULE_STAMP=\"${PROJECT_VERSION}-${digest}\"" PARENT_SCOPE)
endfunction()

# unstarve_module(NAME LIBRARIES sources...): libunstarve_NAME.so, which finds LIBRARIES (a folder) in a source tree.
function(unstarve_module name libraries)
  add_library(unstarve_${name}_module MODULE ${ARGN})
  set_target_properties(unstarve_${name}_module PROPERTIES
    OUTPUT_NAME unstarve_${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/module.map)
  target_link_options(unstarve_${name}_module PRIVATE
    -Wl,--as-needed -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/module.map)
  if(libraries AND NOT DEFINED SKBUILD)  # a wheel takes them from the package path
    set_target_properties(unstarve_${name}_module PROPERTIES INSTALL_RPATH ${libraries})
  endif()
  install(TARGETS unstarve_${name}_module LIBRARY DESTINATION ${UNSTARVE_MODULE_FOLDER} COMPONENT program)
endfunction()

# unstarve_add_arrow_module(sources...): the module of these sources of the folder storage. They are also an object
# library, unstarve_arrow, which fuzz/ links.
function(unstarve_add_arrow_module)
  set(parquet ${PROJECT_SOURCE_DIR}/unstarve/storage/formats/parquet)
  unstarve_module_stamp(stamp unstarve/storage/formats/parquet/arrow_module.h)
  add_library(unstarve_arrow OBJECT ${ARGN} ${parquet}/module.cpp)
  unstarve_unity(unstarve_arrow)
  # Arrow's headers for these files only: no other file is compiled again for another pyarrow.
  target_include_directories(unstarve_arrow SYSTEM PRIVATE ${UNSTARVE_ARROW_INCLUDE})
  target_link_libraries(unstarve_arrow PUBLIC unstarve_core unstarve_libparquet)
  if(UNSTARVE_SANITIZE)  # UBSan's check of types would require those of classes that the caller implements
    add_library(unstarve_no_vptr INTERFACE)  # a library, whose options follow those of unstarve_core
    target_compile_options(unstarve_no_vptr INTERFACE -fno-sanitize=vptr)
    target_link_libraries(unstarve_arrow PRIVATE unstarve_no_vptr)
  endif()
  unstarve_module(arrow ${UNSTARVE_ARROW_FOLDER} ${parquet}/columns.cpp)
  target_link_libraries(unstarve_arrow_module PRIVATE unstarve_arrow)
  set_source_files_properties(${parquet}/module.cpp PROPERTIES COMPILE_DEFINITIONS ${stamp})
  set(definitions ${stamp})
  foreach(name UNSTARVE_ARROW_VERSION UNSTARVE_ARROW_LIBRARY UNSTARVE_PARQUET_LIBRARY)
    list(APPEND definitions "${name}=\"${${name}}\"")
  endforeach()
  set_source_files_properties(${parquet}/arrow_module.cpp PROPERTIES COMPILE_DEFINITIONS "${definitions}")
endfunction()

function(unstarve_add_openvino_module)
  set(engines ${PROJECT_SOURCE_DIR}/unstarve/infer/engines)
  unstarve_module_stamp(stamp unstarve/infer/engines/openvino_module.h)
  unstarve_module(openvino ${UNSTARVE_OPENVINO_FOLDER}/libs ${engines}/openvino_engine.cpp ${engines}/module.cpp)
  target_include_directories(unstarve_openvino_module SYSTEM PRIVATE ${UNSTARVE_OPENVINO_FOLDER}/include)
  target_link_libraries(unstarve_openvino_module PRIVATE unstarve_core unstarve_libopenvino)
  set_source_files_properties(${engines}/module.cpp PROPERTIES COMPILE_DEFINITIONS ${stamp})
  set(definitions ${stamp})
  foreach(name UNSTARVE_OPENVINO_VERSION UNSTARVE_OPENVINO_LIBRARY UNSTARVE_OPENVINO_TBB)
    list(APPEND definitions "${name}=\"${${name}}\"")
  endforeach()
  set_source_files_properties(${engines}/openvino_module.cpp PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_DEFINITIONS "${definitions}")
endfunction()

# The folders torch, train and infer exist when this is called.
function(unstarve_add_torch_module)
  unstarve_module_stamp(stamp unstarve/train/trainer_module.h)
  unstarve_module_stamp(importer_stamp unstarve/infer/import/import_module.h)
  unstarve_module_stamp(engine_stamp unstarve/infer/engines/libtorch_module.h)
  unstarve_module(torch ${TORCH_INSTALL_PREFIX}/lib unstarve/torch/module.cpp)
  target_link_libraries(unstarve_torch_module PRIVATE unstarve_torch)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" version ${Torch_VERSION})
  string(REPLACE UNSTARVE_MODULE_STAMP UNSTARVE_IMPORTER_STAMP second_stamp ${importer_stamp})
  string(REPLACE UNSTARVE_MODULE_STAMP UNSTARVE_ENGINE_STAMP third_stamp ${engine_stamp})
  set_source_files_properties(unstarve/torch/module.cpp PROPERTIES
    COMPILE_DEFINITIONS "${stamp};${second_stamp};${third_stamp}")
  set_source_files_properties(unstarve/infer/engines/libtorch_module.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_DEFINITIONS "${engine_stamp};UNSTARVE_TORCH_VERSION=\"${version}\"")
  set_source_files_properties(unstarve/infer/import/torch_import.cpp PROPERTIES
    COMPILE_DEFINITIONS "${importer_stamp};UNSTARVE_TORCH_VERSION=\"${version}\"")
  set_source_files_properties(unstarve/train/trainer_module.cpp PROPERTIES
    COMPILE_DEFINITIONS "${stamp};UNSTARVE_TORCH_VERSION=\"${version}\"")
endfunction()

# The folder ranks exists when this is called.
function(unstarve_add_mpi_module)
  if(NOT UNSTARVE_HAS_MPI)
    return()
  endif()
  unstarve_module_stamp(stamp unstarve/ranks/mpi.h)
  unstarve_module(mpi "" unstarve/ranks/module.cpp)
  target_link_libraries(unstarve_mpi_module PRIVATE unstarve_core MPI::MPI_CXX)
  set_source_files_properties(unstarve/ranks/module.cpp unstarve/ranks/mpi.cpp PROPERTIES COMPILE_DEFINITIONS ${stamp})
endfunction()

# Linked with nothing but the C library: it is loaded into other programs. It is never unloaded, as its thread runs on.
function(unstarve_add_cupti_module)
  set(cupti ${PROJECT_SOURCE_DIR}/unstarve/diagnose/cupti)
  unstarve_module(cupti "" ${cupti}/module.cpp ${cupti}/buffer_pool.cpp ${cupti}/cuda_devices.cpp
    ${cupti}/cupti_library.cpp ${cupti}/kernel_log.cpp ${cupti}/nvtx_ranges.cpp ${cupti}/program_state.cpp
    ${cupti}/record_writer.cpp ${cupti}/windows.cpp)
  # Alone: what it calls `recorder` is a parameter in the other files.
  set_source_files_properties(unstarve/diagnose/cupti/module.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(unstarve_cupti_module PRIVATE unstarve_options Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(unstarve_cupti_module PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,nodelete)
  add_dependencies(unstarve_diagnose unstarve_cupti_module)
endfunction()

# unstarve_uses_trainer(TARGET): TARGET, a program, calls make_trainer(), so the module is built with it.
function(unstarve_uses_trainer target)
  if(UNSTARVE_HAS_TORCH)
    add_dependencies(${target} unstarve_torch_module)
  endif()
  if(UNSTARVE_HAS_MPI)
    add_dependencies(${target} unstarve_mpi_module)
  endif()
endfunction()
