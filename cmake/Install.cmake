# The C++ library for other projects, component `library` of `cmake --install`: static libraries, headers and the CMake
# package unstarve with the target unstarve::unstarve. The modules are part of component `program`.
#
#   find_package(unstarve REQUIRED)
#   target_link_libraries(my_program PRIVATE unstarve::unstarve)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/unstarve)
set(folders core observe codecs device storage ops pipeline ranks train diagnose infer jobs)

add_library(unstarve_library INTERFACE)
set(exported unstarve_library unstarve_options unstarve_zstd unstarve_webp)
set_target_properties(unstarve_library PROPERTIES EXPORT_NAME unstarve)
foreach(folder ${folders})
  list(APPEND exported unstarve_${folder})
  set_target_properties(unstarve_${folder} PROPERTIES EXPORT_NAME ${folder})
  target_link_libraries(unstarve_library INTERFACE unstarve_${folder})
endforeach()
# Programs find the modules of the installation.
target_link_options(unstarve_library INTERFACE
  "$<INSTALL_INTERFACE:LINKER:-rpath,$<INSTALL_PREFIX>/${UNSTARVE_MODULE_FOLDER}>")

install(TARGETS ${exported} EXPORT unstarve ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT unstarve NAMESPACE unstarve:: FILE unstarve-targets.cmake DESTINATION ${package} COMPONENT library)
install(DIRECTORY unstarve DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inl" PATTERN testing EXCLUDE PATTERN cuda EXCLUDE PATTERN vendor EXCLUDE)
configure_package_config_file(cmake/unstarve-config.cmake.in ${PROJECT_BINARY_DIR}/unstarve-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/unstarve-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/unstarve-config.cmake ${PROJECT_BINARY_DIR}/unstarve-config-version.cmake
  DESTINATION ${package} COMPONENT library)
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/unstarve COMPONENT library)
