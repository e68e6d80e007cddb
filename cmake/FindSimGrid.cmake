# Finds SimGrid, which ships no CMake package file in Debian. Defines SimGrid::SimGrid and SimGrid_VERSION.
find_path(SimGrid_INCLUDE_DIR NAMES simgrid/s4u.hpp)
find_library(SimGrid_LIBRARY NAMES simgrid)
if(SimGrid_INCLUDE_DIR AND EXISTS ${SimGrid_INCLUDE_DIR}/simgrid/config.h)
  file(READ ${SimGrid_INCLUDE_DIR}/simgrid/config.h config)
  string(REGEX MATCH "SIMGRID_VERSION_MAJOR +([0-9]+)" _ "${config}")
  set(major ${CMAKE_MATCH_1})
  string(REGEX MATCH "SIMGRID_VERSION_MINOR +([0-9]+)" _ "${config}")
  set(SimGrid_VERSION ${major}.${CMAKE_MATCH_1})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR
                                  VERSION_VAR SimGrid_VERSION)
if(SimGrid_FOUND AND NOT TARGET SimGrid::SimGrid)
  add_library(SimGrid::SimGrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::SimGrid PROPERTIES IMPORTED_LOCATION ${SimGrid_LIBRARY}
                                                    INTERFACE_INCLUDE_DIRECTORIES ${SimGrid_INCLUDE_DIR})
endif()
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_LIBRARY)
