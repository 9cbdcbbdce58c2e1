# unstarve_unity(TARGET): compiles the sources of each subfolder together, so that shared headers are parsed once per
# subfolder; folders of libraries with small subfolders are one unit each (`whole`). Names in unnamed namespaces are
# therefore unique within a unit. -DCMAKE_UNITY_BUILD=OFF compiles every file alone. Always compiled alone are files
# that use Highway (they include themselves once per instruction set) or define JSON_DIAGNOSTICS, and
# core/memory/aligned.cpp, which fuzz/ replaces.
function(unstarve_unity target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    file(STRINGS ${source} alone REGEX "hwy/foreach_target|define JSON_DIAGNOSTICS" LIMIT_COUNT 1)
    if(alone OR source MATCHES "/core/memory/aligned\\.cpp$")
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    else()
      string(REGEX REPLACE "^unstarve/(torch|models)/.*" "unstarve/\\1" folder ${folder})  # libtorch's headers: 12 s
      if(NOT target MATCHES "_test$")
        set(whole "storage/formats|storage/remote|diagnose/rules|ops")
        string(REGEX REPLACE "^unstarve/(${whole})/.*" "unstarve/\\1" folder ${folder})
        string(REGEX REPLACE "^unstarve/pipeline/(spec|plan)$" "unstarve_pipeline_\\1" folder ${folder})  # with -O1
        string(REGEX REPLACE "^unstarve/pipeline/.*" "unstarve/pipeline" folder ${folder})
        string(REGEX REPLACE "^unstarve/jobs/.*" "unstarve/jobs/subfolders" folder ${folder})
      endif()
      string(REPLACE "/" "_" group ${folder})
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# unstarve_compile_quickly(TARGET [SUBFOLDERS...]): -O1, which compiles in 70 % of the time, for all files of TARGET
# except those with kernels for several instruction sets, or for those subfolders only. For code that runs a few times
# per command or once per step of a network: work per sample, pixel, weight or event stays at -O3.
function(unstarve_compile_quickly target)
  set(quickly $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  if(NOT ARGN)
    target_compile_options(${target} PRIVATE ${quickly})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/unstarve ${source})
    if(alone AND NOT ARGN AND source MATCHES "\\.cpp$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
    endif()
    foreach(subfolder ${ARGN})
      if(path MATCHES "^[^/]+/${subfolder}/" AND (alone OR NOT CMAKE_UNITY_BUILD))
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS ${quickly})
      endif()
    endforeach()
  endforeach()
  set(units ${PROJECT_BINARY_DIR}/CMakeFiles/${target}.dir/Unity)
  foreach(subfolder ${ARGN})  # options of a single file would exclude it from its unit, so the unit gets them
    set_source_files_properties(${units}/unity_${target}_${subfolder}_cxx.cxx PROPERTIES COMPILE_OPTIONS ${quickly})
  endforeach()
endfunction()

# Of all tests. Operator threads sleep between two operators: several tests run at a time, and threads that wait in a
# loop take the CPUs from the threads for which they wait.
set(UNSTARVE_TEST_ENVIRONMENT OMP_WAIT_POLICY=passive)

# main() of the test programs. Compiled once: Catch2's own code takes longer than most tests.
add_library(unstarve_test_main STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/catch_main.cpp)
target_link_libraries(unstarve_test_main PUBLIC unstarve_options Catch2::Catch2)

# unstarve_embed(SCRIPT HEADER FUNCTION OUT): a source file with FUNCTION of HEADER, which returns the text of SCRIPT.
function(unstarve_embed script header function out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  file(READ ${script} text)
  get_filename_component(name ${script} NAME_WE)
  set(file ${PROJECT_BINARY_DIR}/generated/${name}_text.cpp)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
    "#include \"@header@\"\n\nstd::string_view @function@() {\n  return R\"~~~~(@text@)~~~~\";\n}\n")
  set(${out} ${file} PARENT_SCOPE)
endfunction()

# PRIVATE: libtorch's include folder contains a newer fmt, which must not shadow ours in folders without libtorch.
# With libtorch, fmt is used header-only, so that both versions can exist in one program.
function(unstarve_link_torch target)
  target_link_libraries(${target} PRIVATE ${TORCH_LIBRARIES} ${UNSTARVE_TORCH_OPENMP})
  target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY=1)
  target_include_directories(${target} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  target_compile_options(${target} PRIVATE ${TORCH_CXX_FLAGS} ${OpenMP_CXX_FLAGS})
endfunction()

# unstarve_folder(NAME [USES folders...] [LINK targets...] [TORCH] [CUDA])
#
# Makes the library unstarve_NAME of unstarve/NAME/**.cpp and the test program unstarve_NAME_test of its **_test.cpp.
# Files are found by glob, so no test is left out. TORCH links libtorch. CUDA adds the folder cuda/ if the build has
# CUDA; torch/cuda/ needs a CUDA package of libtorch too.
#
# Files named *_absent.cpp replace the files of a component that the build lacks:
#
#   libtorch           train/trainer_absent.cpp, infer/import/torch_import_absent.cpp, infer/engines/libtorch_absent.cpp
#   CUDA               device/cuda_absent.cpp, ops/gpu/launch_absent.cpp, models/kernels/batch_norm_device_absent.cpp
#   libtorch for CUDA  torch/graphs/recorder_absent.cpp
#   libcurl            storage/remote/remote_absent.cpp, instead of storage/remote/
#   Arrow              storage/formats/parquet/arrow_absent.cpp, instead of the other arrow_*.cpp and parquet_module.cpp
#   OpenVINO           infer/engines/openvino_absent.cpp
#
# With Arrow and OpenVINO, the files that include their headers are modules (cmake/Modules.cmake).
function(unstarve_folder name)
  cmake_parse_arguments(arg "TORCH;CUDA" "" "USES;LINK" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/unstarve/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "/cuda/")
  list(FILTER tests EXCLUDE REGEX "_alloc_test\\.cpp$")  # separate programs: tests/CMakeLists.txt
  list(FILTER sources EXCLUDE REGEX "/module\\.cpp$")  # the entry of a module: Modules.cmake

  if(name STREQUAL "train")
    set(without "trainer_module(_test)?|trainer(_checkpoint)?_test")
    if(UNSTARVE_HAS_TORCH)
      set(without "trainer_absent(_test)?")
    endif()
    list(FILTER sources EXCLUDE REGEX "/(${without})\\.cpp$")
    list(FILTER tests EXCLUDE REGEX "/(${without})\\.cpp$")
  endif()
  if(name STREQUAL "infer")
    set(without "import/torch_import|engines/libtorch_module")
    if(UNSTARVE_HAS_TORCH)
      set(without "import/torch_import_absent|engines/libtorch_absent")
    endif()
    list(FILTER sources EXCLUDE REGEX "/(${without})\\.cpp$")
  endif()
  if(name STREQUAL "storage")
    set(without remote_absent)
    if(NOT UNSTARVE_HAS_REMOTE)
      set(without ".*")
    endif()
    list(FILTER sources EXCLUDE REGEX "/remote/${without}\\.cpp$")
    list(FILTER tests EXCLUDE REGEX "/remote/${without}(_test)?\\.cpp$")
    if(UNSTARVE_HAS_REMOTE)
      unstarve_embed(${dir}/remote/credentials.py unstarve/storage/remote/credential_helper.h
        unstarve::remote::credentials_program credentials_program)
      list(APPEND sources ${credentials_program})
    else()
      list(APPEND sources ${dir}/remote/remote_absent.cpp)
      list(APPEND tests ${dir}/remote/remote_absent_test.cpp)
    endif()
  endif()
  if(name STREQUAL "storage")
    set(without "(arrow_[^/]+|parquet_module)")
    if(UNSTARVE_HAS_PARQUET)
      set(arrow_sources ${sources})
      list(FILTER arrow_sources INCLUDE REGEX "/parquet/arrow_(columns|file|ipc|source|writer)\\.cpp$")
      unstarve_add_arrow_module(${arrow_sources})
      list(REMOVE_ITEM sources ${arrow_sources})
      set(without "arrow_absent")
    endif()
    list(FILTER sources EXCLUDE REGEX "/parquet/${without}\\.cpp$")
    list(FILTER tests EXCLUDE REGEX "/parquet/${without}_test\\.cpp$")
    if(NOT UNSTARVE_HAS_PARQUET)
      list(APPEND sources ${dir}/formats/parquet/arrow_absent.cpp)
      list(APPEND tests ${dir}/formats/parquet/arrow_absent_test.cpp)
    endif()
  endif()
  if(name STREQUAL "infer")
    unstarve_embed(${dir}/engines/onnxruntime_server.py unstarve/infer/engines/engine_table.h
      unstarve::onnxruntime_server onnxruntime_server)
    list(APPEND sources ${onnxruntime_server})
    set(without "openvino_(engine|absent)")
    if(UNSTARVE_HAS_OPENVINO)
      unstarve_add_openvino_module()
    else()
      set(without "openvino_(engine|module)")
    endif()
    list(FILTER sources EXCLUDE REGEX "/engines/${without}\\.cpp$")
  endif()
  set(has_cuda ${UNSTARVE_HAS_CUDA})
  if(name STREQUAL "torch")
    set(has_cuda ${UNSTARVE_TORCH_HAS_CUDA})
  endif()
  if(arg_CUDA AND has_cuda)
    file(GLOB cuda_sources CONFIGURE_DEPENDS ${dir}/cuda/*.cu ${dir}/cuda/*.cpp)
    list(FILTER sources EXCLUDE REGEX "_absent\\.cpp$")
    list(APPEND sources ${cuda_sources})
  endif()

  list(LENGTH sources count)
  if(count EQUAL 0)
    message(FATAL_ERROR "unstarve/${name} has no source file for this build; programs that link it would fail")
  endif()
  add_library(unstarve_${name} STATIC ${sources})
  unstarve_unity(unstarve_${name})
  target_link_libraries(unstarve_${name} PUBLIC unstarve_options ${arg_LINK})
  foreach(folder ${arg_USES})
    target_link_libraries(unstarve_${name} PUBLIC unstarve_${folder})
  endforeach()
  if(arg_CUDA AND UNSTARVE_HAS_CUDA AND NOT name STREQUAL "torch")  # libtorch has a runtime of its own
    target_link_libraries(unstarve_${name} PRIVATE CUDA::cudart_static)
  endif()
  if(name STREQUAL "storage" AND UNSTARVE_HAS_PARQUET)
    add_dependencies(unstarve_storage unstarve_arrow_module)  # whatever reads data loads it
  endif()
  if(name STREQUAL "infer" AND UNSTARVE_HAS_OPENVINO)
    add_dependencies(unstarve_infer unstarve_openvino_module)
  endif()
  if(arg_TORCH)
    unstarve_link_torch(unstarve_${name})
  endif()

  if(tests)
    add_executable(unstarve_${name}_test ${tests})
    unstarve_unity(unstarve_${name}_test)
    target_link_libraries(unstarve_${name}_test PRIVATE unstarve_${name} unstarve_test_main)
    unstarve_compile_quickly(unstarve_${name}_test)  # the macros of Catch2 take twice as long with -O3
    if(arg_TORCH)
      unstarve_link_torch(unstarve_${name}_test)
    endif()
    # One ctest entry per file: Catch2 tags every test with the name of its file. Hidden tests ([.]) are not run.
    foreach(test ${tests})
      get_filename_component(stem ${test} NAME_WE)
      file(RELATIVE_PATH entry ${PROJECT_SOURCE_DIR}/unstarve ${test})
      string(REGEX REPLACE "_test\\.cpp$" "" entry unit/${entry})
      add_test(NAME ${entry} COMMAND unstarve_${name}_test --filenames-as-tags "[#${stem}]~[.]" --warn NoTests
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(${entry} PROPERTIES LABELS unit TIMEOUT 900 ENVIRONMENT "${UNSTARVE_TEST_ENVIRONMENT}")
    endforeach()
  endif()
endfunction()
