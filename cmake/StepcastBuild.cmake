# One interface target for warnings and sanitizers, and one function that makes a layer.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(stepcast_options INTERFACE)
target_include_directories(stepcast_options INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(stepcast_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                  -Wno-sign-conversion -Wno-missing-field-initializers
                                                  -Wnon-virtual-dtor -Woverloaded-virtual)
# Optimising, g++ 12 sees overlaps and uninitialised members inside std::string and std::variant that are not there
# (GCC bugs 105651 and 105562).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(stepcast_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(STEPCAST_WERROR)
  target_compile_options(stepcast_options INTERFACE -Werror)
endif()
if(STEPCAST_SANITIZE)
  target_compile_options(stepcast_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                                    -fno-omit-frame-pointer)
  target_link_options(stepcast_options INTERFACE -fsanitize=address,undefined)
endif()

# stepcast_layer(NAME SOURCES... DEPENDS LOWER_LAYERS... PRIVATE LIBRARIES...)
# A layer is a static library that links downward only; scripts/check_layers holds its includes to that.
function(stepcast_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(stepcast_${name} STATIC ${LAYER_SOURCES})
  add_library(stepcast::${name} ALIAS stepcast_${name})
  target_link_libraries(stepcast_${name} PUBLIC stepcast_options ${LAYER_DEPENDS} PRIVATE ${LAYER_PRIVATE})
endfunction()
