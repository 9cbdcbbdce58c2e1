# Compiler settings, third-party packages and the components of this build: UNSTARVE_HAS_TORCH, UNSTARVE_HAS_CUDA,
# UNSTARVE_HAS_REMOTE.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibArchive REQUIRED)  # unpacks published archives
find_package(OpenSSL REQUIRED)     # MD5 and SHA-256 of these archives
find_package(SQLite3 REQUIRED)     # traces of Nsight Systems
find_package(CLI11 REQUIRED)
find_package(Catch2 2.13 REQUIRED)

find_package(hwy REQUIRED)

# Some distributions' libzstd has no CMake package.
find_path(UNSTARVE_ZSTD_INCLUDE zstd_errors.h REQUIRED)
find_library(UNSTARVE_ZSTD_LIBRARY zstd REQUIRED)
add_library(unstarve_zstd INTERFACE)
target_include_directories(unstarve_zstd SYSTEM INTERFACE $<BUILD_INTERFACE:${UNSTARVE_ZSTD_INCLUDE}>)
target_link_libraries(unstarve_zstd INTERFACE ${UNSTARVE_ZSTD_LIBRARY})

# Debian's libwebp has no CMake package.
find_path(UNSTARVE_WEBP_INCLUDE webp/decode.h REQUIRED)
find_library(UNSTARVE_WEBP_LIBRARY webp REQUIRED)
add_library(unstarve_webp INTERFACE)
target_include_directories(unstarve_webp SYSTEM INTERFACE $<BUILD_INTERFACE:${UNSTARVE_WEBP_INCLUDE}>)
target_link_libraries(unstarve_webp INTERFACE ${UNSTARVE_WEBP_LIBRARY})

# Paths relative to the sources: the build of the wheel then finds the objects of `build`, also for unity units.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

add_library(unstarve_options INTERFACE)
target_include_directories(unstarve_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
target_compile_features(unstarve_options INTERFACE cxx_std_20)
set(warnings -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor)
target_compile_options(unstarve_options INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${warnings}>>"
  # -Wrestrict reports false positives for std::string + const char*: GCC bug 105651.
  $<BUILD_INTERFACE:$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>>
  # Less garbage collection in the compiler: 3 to 8 % of its time.
  $<BUILD_INTERFACE:$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:--param=ggc-min-heapsize=400000>>
  # Kernels must be bit-equal to the host, so products and sums are not contracted.
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>>
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>>)
if(UNSTARVE_SANITIZE)
  target_compile_options(unstarve_options INTERFACE
    -fsanitize=${UNSTARVE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(unstarve_options INTERFACE -fsanitize=${UNSTARVE_SANITIZE})
endif()
if(UNSTARVE_GUARD_PAGES)
  target_compile_definitions(unstarve_options INTERFACE UNSTARVE_GUARD_PAGES)
endif()
if(UNSTARVE_FUZZ)
  target_compile_options(unstarve_options INTERFACE -fsanitize=fuzzer-no-link)  # coverage for libFuzzer
endif()

set(UNSTARVE_HAS_CUDA FALSE)
if(NOT UNSTARVE_CUDA STREQUAL "OFF" AND NOT UNSTARVE_SANITIZE AND NOT UNSTARVE_FUZZ)  # options that nvcc rejects
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80 90-real)  # from the T4 on; the driver compiles 80 for later GPUs
    endif()
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # supported since nvcc 12.0, unknown to CMake 3.25
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit QUIET)
    if(CUDAToolkit_FOUND)
      set(UNSTARVE_HAS_CUDA TRUE)
    endif()
  endif()
  if(UNSTARVE_CUDA STREQUAL "ON" AND NOT UNSTARVE_HAS_CUDA)
    message(FATAL_ERROR "UNSTARVE_CUDA=ON, but no nvcc with its runtime was found")
  endif()
endif()

# libtorch comes from the PyPI wheel in .venv (or wherever Torch_DIR points). UNSTARVE_TORCH_HAS_CUDA: it is a CUDA
# package.
set(UNSTARVE_HAS_TORCH FALSE)
set(UNSTARVE_TORCH_HAS_CUDA FALSE)
if(NOT UNSTARVE_TORCH STREQUAL "OFF")
  file(GLOB torch_configs ${PROJECT_SOURCE_DIR}/.venv/lib/python3.*/site-packages/torch/share/cmake/Torch)
  if(torch_configs AND NOT Torch_DIR)
    list(GET torch_configs 0 Torch_DIR)
    set(Torch_DIR ${Torch_DIR} CACHE PATH "libtorch's CMake package")
  endif()
  if(UNSTARVE_HAS_CUDA AND NOT DEFINED TORCH_CUDA_ARCH_LIST)
    # A CUDA package of libtorch searches the toolkit by a module of CMake that does not follow a wrapper of nvcc.
    if(NOT CUDA_TOOLKIT_ROOT_DIR)
      list(GET CUDAToolkit_INCLUDE_DIRS 0 toolkit)
      get_filename_component(toolkit ${toolkit} DIRECTORY)
      set(CUDA_TOOLKIT_ROOT_DIR ${toolkit} CACHE PATH "CUDA toolkit of libtorch's package")
    endif()
    # Otherwise libtorch's package compiles a program that asks the GPU.
    # A toolkit may lack NVRTC, which the package links: torch's wheel depends on one that contains it.
    find_library(CUDA_nvrtc_LIBRARY NAMES nvrtc libnvrtc.so.13 HINTS ${CUDAToolkit_LIBRARY_DIR}
      PATHS ${Torch_DIR}/../../../../nvidia/cu13/lib)
    list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "^([0-9]+)([0-9])-real$" "\\1.\\2" OUTPUT_VARIABLE torch_names)
    list(TRANSFORM torch_names REPLACE "^([0-9]+)([0-9])$" "\\1.\\2+PTX")
    if(torch_names MATCHES "^[0-9.+PTX;]+$")  # others, as "native", have no name there
      set(TORCH_CUDA_ARCH_LIST ${torch_names})
    endif()
  endif()
  find_package(Torch QUIET)
  if(Torch_FOUND)
    set(UNSTARVE_HAS_TORCH TRUE)
    if(TARGET torch_cuda)
      set(UNSTARVE_TORCH_HAS_CUDA TRUE)
    endif()
    # Without OpenMP, at::parallel_for is a plain loop. The library must be libtorch's own, if its package contains one.
    find_package(OpenMP REQUIRED COMPONENTS CXX)
    find_library(UNSTARVE_TORCH_OPENMP NAMES libgomp.so.1 PATHS ${TORCH_INSTALL_PREFIX}/lib NO_DEFAULT_PATH)
    if(NOT UNSTARVE_TORCH_OPENMP)
      set(UNSTARVE_TORCH_OPENMP ${OpenMP_CXX_LIBRARIES})
    endif()
  elseif(UNSTARVE_TORCH STREQUAL "ON")
    message(FATAL_ERROR "UNSTARVE_TORCH=ON, but libtorch was not found: run `make setup`, or set Torch_DIR")
  endif()
endif()

# Concurrent reads: liburing is the interface to io_uring. If the kernel does not permit it at run time, threads read.
find_library(UNSTARVE_URING_LIBRARY uring REQUIRED)

# Remote objects: HTTP by libcurl (from 7.85 on, redirects can be limited to named protocols), signatures by OpenSSL,
# lists by expat.
set(UNSTARVE_HAS_REMOTE FALSE)
set(UNSTARVE_REMOTE_LIBRARIES)
if(NOT UNSTARVE_REMOTE STREQUAL "OFF")
  find_package(CURL 7.85)
  find_package(OpenSSL)
  find_package(EXPAT)
  if(CURL_FOUND AND OpenSSL_FOUND AND EXPAT_FOUND)
    set(UNSTARVE_HAS_REMOTE TRUE)
    set(UNSTARVE_REMOTE_LIBRARIES CURL::libcurl OpenSSL::Crypto EXPAT::EXPAT)
  elseif(UNSTARVE_REMOTE STREQUAL "ON")
    message(FATAL_ERROR "UNSTARVE_REMOTE=ON, but libcurl, OpenSSL or expat is missing: run `make setup`")
  endif()
endif()

# MPI for training. Not in a wheel, which would contain a copy of this machine's MPI: it uses torchrun.
set(UNSTARVE_HAS_MPI FALSE)
if(NOT UNSTARVE_MPI STREQUAL "OFF" AND UNSTARVE_HAS_TORCH AND NOT DEFINED SKBUILD)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  set(UNSTARVE_HAS_MPI ${MPI_CXX_FOUND})
  if(UNSTARVE_MPI STREQUAL "ON" AND NOT UNSTARVE_HAS_MPI)
    message(FATAL_ERROR "UNSTARVE_MPI=ON, but MPI was not found: apt-get install libopenmpi-dev")
  endif()
endif()

# The extension module: nanobind comes from PyPI (requirements.txt, or the wheel's build environment).
set(UNSTARVE_HAS_PYTHON FALSE)
if(NOT UNSTARVE_PYTHON STREQUAL "OFF" AND NOT UNSTARVE_SANITIZE AND NOT UNSTARVE_FUZZ)
  if(NOT DEFINED SKBUILD AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  endif()
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
  if(Python_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
      OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_package(nanobind CONFIG QUIET)
    set(UNSTARVE_HAS_PYTHON ${nanobind_FOUND})
  endif()
  if(UNSTARVE_PYTHON STREQUAL "ON" AND NOT UNSTARVE_HAS_PYTHON)
    message(FATAL_ERROR "UNSTARVE_PYTHON=ON, but Python's headers or nanobind are missing: run `make setup`")
  endif()
endif()
# All machines round in the same way: a product and a sum are rounded separately. Compilers for 64-bit ARM and kernels
# for AVX2 would otherwise use a fused instruction.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(UNSTARVE_HAS_PYTHON OR UNSTARVE_HAS_TORCH OR UNSTARVE_HAS_PARQUET OR UNSTARVE_HAS_OPENVINO)
  # Shared modules are linked from the static libraries. Without semantic interposition, functions can still be inlined.
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-semantic-interposition>)
endif()
message(STATUS "unstarve: libtorch ${UNSTARVE_HAS_TORCH}, CUDA ${UNSTARVE_HAS_CUDA}, remote ${UNSTARVE_HAS_REMOTE}, "
               "Python ${UNSTARVE_HAS_PYTHON}")
