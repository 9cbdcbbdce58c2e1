# libunstarve_torch.so: models/ and torch/ with libtorch, a module that the program loads when training starts
# (unstarve/train/trainer_module.h, docs/decisions/0029-torch-module.md).
#
# unstarve_uses_trainer(TARGET): for a program that calls make_trainer(). Builds the module with the program, into the
# same folder.
include(GNUInstallDirs)

function(unstarve_uses_trainer target)
  if(NOT UNSTARVE_HAS_TORCH)
    return()
  endif()
  add_dependencies(${target} unstarve_torch_module)
  get_target_property(folder ${target} RUNTIME_OUTPUT_DIRECTORY)
  if(NOT folder)
    set(folder ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  if(NOT folder STREQUAL CMAKE_BINARY_DIR)
    add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink
      $<TARGET_FILE:unstarve_torch_module> ${folder}/$<TARGET_FILE_NAME:unstarve_torch_module>)
  endif()
endfunction()

if(NOT UNSTARVE_HAS_TORCH)
  return()
endif()

# The stamp that program and module compare: the version, and a digest of the headers that define their interface.
set(headers unstarve/train/trainer_module.h)
set(interface_text "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
set(seen)
while(headers)
  list(POP_FRONT headers header)
  if(header IN_LIST seen)
    continue()
  endif()
  list(APPEND seen ${header})
  file(READ ${PROJECT_SOURCE_DIR}/${header} text)
  string(APPEND interface_text "${text}")
  string(REGEX MATCHALL "#include \"unstarve/[^\"]+\"" includes "${text}")
  list(TRANSFORM includes REPLACE "#include \"([^\"]+)\"" "\\1")
  list(APPEND headers ${includes})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
endwhile()
string(SHA256 digest "${interface_text}")
string(SUBSTRING ${digest} 0 12 digest)
set(stamp "UNSTARVE_MODULE_STAMP=\"${PROJECT_VERSION}-${digest}\"")

add_library(unstarve_torch_module MODULE unstarve/torch/module.cpp)
target_link_libraries(unstarve_torch_module PRIVATE unstarve_torch)
set_target_properties(unstarve_torch_module PROPERTIES
  OUTPUT_NAME unstarve_torch LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/torch_module.map)
target_link_options(unstarve_torch_module PRIVATE
  -Wl,--as-needed -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/torch_module.map)
set_source_files_properties(unstarve/torch/module.cpp PROPERTIES COMPILE_DEFINITIONS ${stamp})

# The paths at which trainer_module.cpp looks for the module: next to the program, and relative to an installed program.
set(module_folder ${CMAKE_INSTALL_LIBDIR}/unstarve)
file(RELATIVE_PATH from_program /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${module_folder})
set(paths
  UNSTARVE_MODULE_FILE="${CMAKE_SHARED_MODULE_PREFIX}unstarve_torch${CMAKE_SHARED_MODULE_SUFFIX}"
  UNSTARVE_MODULE_FOLDER="${from_program}"
  UNSTARVE_MODULE_LIBTORCH="${TORCH_INSTALL_PREFIX}/lib")
set_source_files_properties(unstarve/train/trainer_module.cpp PROPERTIES COMPILE_DEFINITIONS "${stamp};${paths}")
set_target_properties(unstarve_torch_module PROPERTIES INSTALL_RPATH ${TORCH_INSTALL_PREFIX}/lib)
install(TARGETS unstarve_torch_module LIBRARY DESTINATION ${module_folder} COMPONENT program)
