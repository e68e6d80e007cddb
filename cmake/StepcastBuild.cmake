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
if(STEPCAST_WERROR)
  target_compile_options(stepcast_options INTERFACE -Werror)
endif()
if(STEPCAST_SANITIZE)
  target_compile_options(stepcast_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                                    -fno-omit-frame-pointer)
  target_link_options(stepcast_options INTERFACE -fsanitize=address,undefined)
endif()

# The headers of the standard library that most sources read, translated once for all layers.
add_library(stepcast_headers OBJECT ${PROJECT_SOURCE_DIR}/base/headers.cpp)
target_link_libraries(stepcast_headers PRIVATE stepcast_options)
if(STEPCAST_FAST_BUILD)
  target_precompile_headers(stepcast_headers PRIVATE <algorithm> <array> <cmath> <cstdint> <filesystem> <functional>
                            <limits> <map> <memory> <optional> <set> <span> <string> <string_view> <tuple> <utility>
                            <variant> <vector>)
endif()

# stepcast_layer(NAME SOURCES... DEPENDS LOWER_LAYERS... PRIVATE LIBRARIES...)
# A layer is a static library that links downward only; scripts/check_layers holds its includes to that.
function(stepcast_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(stepcast_${name} STATIC ${LAYER_SOURCES})
  add_library(stepcast::${name} ALIAS stepcast_${name})
  target_link_libraries(stepcast_${name} PUBLIC stepcast_options ${LAYER_DEPENDS} PRIVATE ${LAYER_PRIVATE})
  if(STEPCAST_FAST_BUILD)
    target_precompile_headers(stepcast_${name} REUSE_FROM stepcast_headers)
    set_target_properties(stepcast_${name} PROPERTIES UNITY_BUILD ${STEPCAST_JOIN} UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()
