# Finds cpp-httplib as Debian compiles it, which ships a pkg-config file alone. Defines CppHttplib::CppHttplib.
find_path(CppHttplib_INCLUDE_DIR NAMES httplib.h)
find_library(CppHttplib_LIBRARY NAMES cpp-httplib)
if(CppHttplib_INCLUDE_DIR)
  file(STRINGS ${CppHttplib_INCLUDE_DIR}/httplib.h line REGEX "define CPPHTTPLIB_VERSION \"")
  string(REGEX MATCH "[0-9.]+" CppHttplib_VERSION "${line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CppHttplib REQUIRED_VARS CppHttplib_LIBRARY CppHttplib_INCLUDE_DIR
                                             VERSION_VAR CppHttplib_VERSION)
if(CppHttplib_FOUND AND NOT TARGET CppHttplib::CppHttplib)
  find_package(OpenSSL 3 REQUIRED COMPONENTS SSL)
  add_library(CppHttplib::CppHttplib UNKNOWN IMPORTED)
  # The macros with which the library was compiled: they change its classes.
  set_target_properties(CppHttplib::CppHttplib PROPERTIES IMPORTED_LOCATION ${CppHttplib_LIBRARY}
    INTERFACE_COMPILE_DEFINITIONS "CPPHTTPLIB_OPENSSL_SUPPORT;CPPHTTPLIB_ZLIB_SUPPORT;CPPHTTPLIB_BROTLI_SUPPORT"
    INTERFACE_INCLUDE_DIRECTORIES "${CppHttplib_INCLUDE_DIR}")
endif()
mark_as_advanced(CppHttplib_INCLUDE_DIR CppHttplib_LIBRARY)
