# One interface target for warnings and sanitizers, and one function that makes a layer.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without this ccache does not remember what is compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${CCACHE})
endif()

add_library(stepcast_options INTERFACE)
target_include_directories(stepcast_options INTERFACE ${PROJECT_SOURCE_DIR}/include)
# A result names the build that made it by this id (base/build.cpp).
target_link_options(stepcast_options INTERFACE LINKER:--build-id=sha1)
# What is loaded is bound at once and then read-only.
target_link_options(stepcast_options INTERFACE LINKER:-z,relro LINKER:-z,now)
if(STEPCAST_HARDEN)
  # Fortified functions need an optimised build, which sources of tests are not. Of two maps that fit the later one counts.
  target_compile_options(stepcast_options INTERFACE -fstack-protector-strong
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:STEPCAST_TEST_SOURCES>>>:-D_FORTIFY_SOURCE=2>
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
endif()
target_compile_options(stepcast_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                                                  -Wno-sign-conversion -Wno-missing-field-initializers
                                                  -Wnon-virtual-dtor -Woverloaded-virtual -Wswitch-enum)
# Joined sources see each other's names: only a build of single sources can tell what hides a global.
target_compile_options(stepcast_options INTERFACE $<IF:$<BOOL:${STEPCAST_FAST_BUILD}>,-Wshadow=local,-Wshadow>)
# Optimising, g++ 12 sees overlaps and uninitialised members inside std::string and std::variant that are not there
# (GCC bugs 105651, 105562 and 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(stepcast_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds)
endif()
# g++ joins a product and a sum where the processor can (ARM): results would not be those of x86-64, bit by bit.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  target_compile_options(stepcast_options INTERFACE -ffp-contract=off)
endif()
# A compiler that collects its garbage later is done 6 to 7 % sooner; it grows to half a GiB at most before it begins.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(stepcast_options INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()
if(STEPCAST_WERROR)
  target_compile_options(stepcast_options INTERFACE -Werror)
endif()
if(STEPCAST_SANITIZE)
  # The sources of tests (STEPCAST_TEST_SOURCES) take AddressSanitizer alone. A fast build leaves out the checks of
  # pointers, a third of the time to compile: AddressSanitizer ends at a null or wild one as well, and the build of
  # single sources keeps them.
  target_compile_options(stepcast_options INTERFACE
    -fsanitize=address -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:STEPCAST_TEST_SOURCES>>>:-fsanitize=undefined>
    $<$<BOOL:${STEPCAST_FAST_BUILD}>:-fno-sanitize=null,alignment,vptr,object-size>)
  target_link_options(stepcast_options INTERFACE -fsanitize=address,undefined)
  # An object of every program: of a library it would not be taken, the run time has one that it may replace.
  add_library(stepcast_sanitizer_options OBJECT ${PROJECT_SOURCE_DIR}/base/sanitizer_options.cpp)
  set(sanitizer_objects $<TARGET_OBJECTS:stepcast_sanitizer_options>)
endif()

# stepcast_translated_headers(NAME HEADERS...): headers that are translated once for all layers or rooms that name it.
function(stepcast_translated_headers name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/base/headers.cpp)
  target_link_libraries(${name} PRIVATE stepcast_options)
  if(STEPCAST_FAST_BUILD)
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()
set(standard_headers <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory> <optional>
                     <set> <span> <string> <string_view> <tuple> <utility> <variant> <vector>)
stepcast_translated_headers(stepcast_headers ${standard_headers})
# For rooms that read and write: nothing there is worth the time that optimising these libraries' templates takes.
stepcast_translated_headers(stepcast_plain_headers ${standard_headers} <CLI/CLI.hpp> <fmt/format.h> <nlohmann/json.hpp>)
set(plain_options $<IF:$<CONFIG:Release>,-O1,-O0>)
target_compile_options(stepcast_plain_headers PRIVATE ${plain_options})
target_link_libraries(stepcast_plain_headers PRIVATE CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)

# How many sources of a layer or room a fast build joins. What they include is read once for all of them, so many are the
# least work; where cores are many, smaller pieces are done sooner.
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
set(joined 8)
if(cores LESS_EQUAL 4)
  set(joined 32)
endif()
set(STEPCAST_JOINED ${joined} CACHE STRING "sources that a fast build joins")

# stepcast_layer(NAME [PLAIN] [JOINED COUNT] SOURCES... DEPENDS LOWER_LAYERS... PRIVATE LIBRARIES...)
# A layer is a static library that links downward only; scripts/check_layers holds its includes to that. JOINED is for
# rooms that are worked on so often that a change must be built sooner than the whole.
function(stepcast_layer name)
  cmake_parse_arguments(LAYER "PLAIN" "JOINED" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  if(NOT LAYER_JOINED)
    set(LAYER_JOINED ${STEPCAST_JOINED})
  endif()
  add_library(stepcast_${name} STATIC ${LAYER_SOURCES})
  add_library(stepcast::${name} ALIAS stepcast_${name})
  target_link_libraries(stepcast_${name} PUBLIC stepcast_options ${LAYER_DEPENDS} PRIVATE ${LAYER_PRIVATE})
  set(headers stepcast_headers)
  if(LAYER_PLAIN)
    set(headers stepcast_plain_headers)
    target_compile_options(stepcast_${name} PRIVATE ${plain_options})
    target_link_libraries(stepcast_${name} PRIVATE fmt::fmt)  # its headers stand among the translated ones
  endif()
  if(STEPCAST_FAST_BUILD)
    target_precompile_headers(stepcast_${name} REUSE_FROM ${headers})
    set_target_properties(stepcast_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${LAYER_JOINED})
  endif()
endfunction()

# stepcast_threads(NAME): ThreadSanitizer for a layer or room, where it is asked for. All else has one thread, and no need of it.
function(stepcast_threads name)
  if(STEPCAST_SANITIZE_THREADS)
    target_compile_options(stepcast_${name} PRIVATE -fsanitize=thread -fno-omit-frame-pointer)
    target_link_options(stepcast_${name} PUBLIC -fsanitize=thread)
    set_target_properties(stepcast_${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# stepcast_hot(NAME): for rooms in whose loops a replay spends its time. Headers are translated with other options.
function(stepcast_hot name)
  target_compile_options(stepcast_${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  set_target_properties(stepcast_${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()

# stepcast_module(NAME SOURCES... PRIVATE LIBRARIES...)
# A library that is loaded when it is first needed (base/module.cpp): lib/stepcast/NAME.so in the folder of the build as in
# an installed prefix. ${NAME_fingerprint} is a source with the function NAME_fingerprint(), by which a program knows its module.
function(stepcast_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;PRIVATE" ${ARGN})
  add_library(stepcast_${name}_module MODULE ${MODULE_SOURCES})
  target_link_libraries(stepcast_${name}_module PRIVATE stepcast_options ${MODULE_PRIVATE})
  if(NOT STEPCAST_FUZZ)  # the program brings what clang's instrumentation calls
    target_link_options(stepcast_${name}_module PRIVATE LINKER:-z,defs)
  endif()
  set_target_properties(stepcast_${name}_module PROPERTIES PREFIX "" OUTPUT_NAME ${name}
                        CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/stepcast)
  set(fingerprint ${CMAKE_CURRENT_BINARY_DIR}/${name}_fingerprint.cpp)
  add_custom_command(OUTPUT ${fingerprint}
    DEPENDS stepcast_${name}_module ${PROJECT_SOURCE_DIR}/cmake/fingerprint.cmake
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:stepcast_${name}_module> -DOUTPUT=${fingerprint}
            -DFUNCTION=${name}_fingerprint -P ${PROJECT_SOURCE_DIR}/cmake/fingerprint.cmake VERBATIM)
  set(${name}_fingerprint ${fingerprint} PARENT_SCOPE)
  install(TARGETS stepcast_${name}_module LIBRARY DESTINATION lib/stepcast COMPONENT stepcast)
endfunction()
