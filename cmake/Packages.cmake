# What is installed, and the Debian packages of it: `cmake --build build/release --target stepcast stepcast_mpi`, then
# `cpack --config build/release/CPackConfig.cmake`. The prefix may be moved: programs find their presets beside themselves.
include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # tests are not installed, so they need not be built
install(TARGETS stepcast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT stepcast)
install(DIRECTORY scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/stepcast COMPONENT stepcast)
install(FILES scripts/completion/stepcast.bash RENAME stepcast
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT stepcast)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/stepcast COMPONENT stepcast)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/stepcast COMPONENT stepcast)
# The scripts of the other shells are made of the options themselves.
foreach(script zsh/vendor-completions/_stepcast fish/vendor_completions.d/stepcast.fish)
  string(REGEX MATCH "^[a-z]+" shell ${script})
  install(CODE "set(file \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${script})
    get_filename_component(folder \${file} DIRECTORY)
    file(MAKE_DIRECTORY \${folder})
    execute_process(COMMAND ${stepcast_runner} completion ${shell} OUTPUT_FILE \${file}
      COMMAND_ERROR_IS_FATAL ANY)" COMPONENT stepcast)
endforeach()
find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  install(CODE "execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/write_man_pages
    ${stepcast_runner} \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT stepcast)
endif()
if(STEPCAST_MPI)
  install(TARGETS stepcast_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi)
endif()
# Debian's Python finds it in /usr; elsewhere PREFIX/lib/python3/dist-packages goes on PYTHONPATH.
install(DIRECTORY python/stepcast DESTINATION lib/python3/dist-packages COMPONENT python
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_version.cmake)
set(CPACK_STEPCAST_ROOT ${PROJECT_SOURCE_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_VENDOR "the authors of Stepcast")
set(CPACK_PACKAGE_CONTACT "the authors of Stepcast")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_STEPCAST_PACKAGE_NAME stepcast)
set(CPACK_DEBIAN_STEPCAST_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME stepcast-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-stepcast)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/python-package/postinst
                                              ${PROJECT_SOURCE_DIR}/cmake/python-package/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-pandas)
set(CPACK_COMPONENT_STEPCAST_DESCRIPTION "Predicts the time of one LLM training step: program and presets")
set(CPACK_COMPONENT_MPI_DESCRIPTION "Sweeps of Stepcast over the ranks of an MPI job")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Forecasts of Stepcast from Python")
include(CPack)
