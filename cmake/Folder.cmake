# unstarve_folder(NAME [USES folders...] [LINK targets...] [TORCH] [CUDA])
#
# Makes the library unstarve_NAME of unstarve/NAME/**.cpp and the test program unstarve_NAME_test of its **_test.cpp.
# Files are found by glob, so that no test can be orphaned. TORCH links libtorch and precompiles its header. CUDA adds
# the folder cuda/ when the build has CUDA. Files named *_absent.cpp stand in for a missing component and are taken
# instead of the component's own files: train/*_absent.cpp without libtorch, device/cuda_absent.cpp and
# ops/gpu/launch_absent.cpp without CUDA, storage/remote/remote_absent.cpp instead of storage/remote/ without libcurl,
# storage/parquet/arrow_absent.cpp instead of the other arrow_*.cpp without Arrow.
function(unstarve_folder name)
  cmake_parse_arguments(arg "TORCH;CUDA" "" "USES;LINK" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/unstarve/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "/cuda/")
  list(FILTER tests EXCLUDE REGEX "_alloc_test\\.cpp$")  # programs of their own: tests/CMakeLists.txt

  if(name STREQUAL "train")
    if(UNSTARVE_HAS_TORCH)
      list(FILTER sources EXCLUDE REGEX "_absent\\.cpp$")
      list(FILTER tests EXCLUDE REGEX "_absent_test\\.cpp$")
    else()
      list(FILTER sources INCLUDE REGEX "/(trainer_absent|settings|loop|loader_source)\\.cpp$")
      list(FILTER tests INCLUDE REGEX "/(trainer_absent|settings|loop)_test\\.cpp$")
    endif()
  endif()
  if(name STREQUAL "storage")
    set(without remote_absent)
    if(NOT UNSTARVE_HAS_REMOTE)
      set(without ".*")
    endif()
    list(FILTER sources EXCLUDE REGEX "/remote/${without}\\.cpp$")
    list(FILTER tests EXCLUDE REGEX "/remote/${without}(_test)?\\.cpp$")
    if(NOT UNSTARVE_HAS_REMOTE)
      list(APPEND sources ${dir}/remote/remote_absent.cpp)
      list(APPEND tests ${dir}/remote/remote_absent_test.cpp)
    endif()
  endif()
  if(name STREQUAL "storage")
    if(UNSTARVE_HAS_PARQUET)
      list(FILTER sources EXCLUDE REGEX "/parquet/arrow_absent\\.cpp$")
      list(FILTER tests EXCLUDE REGEX "/parquet/arrow_absent_test\\.cpp$")
    else()
      list(FILTER sources EXCLUDE REGEX "/parquet/arrow_(file|writer)\\.cpp$")
      list(FILTER tests EXCLUDE REGEX "/parquet/arrow_(file|writer)_test\\.cpp$")
    endif()
  endif()
  if(arg_CUDA AND UNSTARVE_HAS_CUDA)
    file(GLOB cuda_sources CONFIGURE_DEPENDS ${dir}/cuda/*.cu ${dir}/cuda/*.cpp)
    list(FILTER sources EXCLUDE REGEX "_absent\\.cpp$")
    list(APPEND sources ${cuda_sources})
  endif()

  list(LENGTH sources count)
  if(count EQUAL 0)
    message(FATAL_ERROR "unstarve/${name} has no source for this build: whatever links it would fail")
  endif()
  add_library(unstarve_${name} STATIC ${sources})
  target_link_libraries(unstarve_${name} PUBLIC unstarve_options ${arg_LINK})
  foreach(folder ${arg_USES})
    target_link_libraries(unstarve_${name} PUBLIC unstarve_${folder})
  endforeach()
  if(arg_CUDA AND UNSTARVE_HAS_CUDA)
    target_link_libraries(unstarve_${name} PRIVATE CUDA::cudart_static)
  endif()
  if(name STREQUAL "storage" AND UNSTARVE_HAS_PARQUET)
    # The headers for the two files that include them only: no other file is compiled anew for another pyarrow.
    target_link_libraries(unstarve_${name} PRIVATE $<LINK_ONLY:unstarve_arrow>)
    set_source_files_properties(${dir}/parquet/arrow_file.cpp ${dir}/parquet/arrow_writer.cpp
      PROPERTIES COMPILE_OPTIONS "-isystem;${UNSTARVE_ARROW_INCLUDE}")
  endif()
  if(arg_TORCH)
    # PRIVATE: libtorch's include folder holds a newer fmt that must not shadow ours in folders without libtorch. Where
    # it is in, fmt is taken header-only, so that either version is complete in itself.
    target_link_libraries(unstarve_${name} PRIVATE ${TORCH_LIBRARIES})
    target_compile_definitions(unstarve_${name} PRIVATE FMT_HEADER_ONLY=1)
    target_include_directories(unstarve_${name} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
    target_compile_options(unstarve_${name} PRIVATE ${TORCH_CXX_FLAGS})
    target_precompile_headers(unstarve_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/torch_pch.h)
    # The precompiled header costs a gigabyte and seconds even where it is not used: not for files without libtorch.
    set_source_files_properties(
      ${PROJECT_SOURCE_DIR}/tests/catch_main.cpp
      ${dir}/safetensors.cpp ${dir}/safetensors_test.cpp
      ${dir}/settings.cpp ${dir}/settings_test.cpp ${dir}/trainer_test.cpp
      ${dir}/loop.cpp ${dir}/loop_test.cpp ${dir}/loader_source.cpp
      PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()

  if(tests)
    add_executable(unstarve_${name}_test ${tests} ${PROJECT_SOURCE_DIR}/tests/catch_main.cpp)
    target_link_libraries(unstarve_${name}_test PRIVATE unstarve_${name} Catch2::Catch2)
    if(arg_TORCH)
      target_link_libraries(unstarve_${name}_test PRIVATE ${TORCH_LIBRARIES})
      target_compile_definitions(unstarve_${name}_test PRIVATE FMT_HEADER_ONLY=1)
      target_include_directories(unstarve_${name}_test SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
      target_compile_options(unstarve_${name}_test PRIVATE ${TORCH_CXX_FLAGS})
      # The precompiled header is taken only by the very code model that it was made with.
      get_target_property(position_independent unstarve_${name} POSITION_INDEPENDENT_CODE)
      if(position_independent)
        set_target_properties(unstarve_${name}_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        target_compile_options(unstarve_${name}_test PRIVATE -fPIC)
      endif()
      target_precompile_headers(unstarve_${name}_test REUSE_FROM unstarve_${name})
    endif()
    add_test(NAME unit/${name} COMMAND unstarve_${name}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(unit/${name} PROPERTIES TIMEOUT 900)
  endif()
endfunction()
