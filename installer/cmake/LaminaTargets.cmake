# SPDX-License-Identifier: Apache-2.0
# lamina_flags: the compile options of every target; lamina_room(): one folder of the tree as a static
# library that may use only the rooms it names.

add_library(lamina_flags INTERFACE)
target_compile_features(lamina_flags INTERFACE cxx_std_20)
target_include_directories(lamina_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(lamina_flags INTERFACE LAMINA_VERSION="${PROJECT_VERSION}")
# No fused multiply-add is formed by the compiler: formulas whose rounding is specified (the quantisers)
# must give the same bits on every machine; kernels that want it call it by name.
target_compile_options(lamina_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off)
if(LAMINA_WERROR)
  target_compile_options(lamina_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps in `"text" + std::string` at -O3 that are not there (GCC bug 105651).
  target_compile_options(lamina_flags INTERFACE -Wno-restrict)
endif()
if(LAMINA_SANITIZE)
  target_compile_options(lamina_flags INTERFACE -fsanitize=${LAMINA_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(lamina_flags INTERFACE -fsanitize=${LAMINA_SANITIZE})
endif()

# lamina_room(NAME SOURCES a.cc ... [USES room ...] [PRIVATE lib ...] [TORCH])
# USES: rooms visible through the public headers. TORCH: the sources may include ATen; the headers may
# not show it to others.
function(lamina_room name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;USES;PRIVATE" ${ARGN})
  add_library(lamina_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(lamina_${name} PUBLIC lamina_flags)
  foreach(room IN LISTS ARG_USES)
    target_link_libraries(lamina_${name} PUBLIC lamina_${room})
  endforeach()
  target_link_libraries(lamina_${name} PRIVATE ${ARG_PRIVATE})
  if(ARG_TORCH)
    target_link_libraries(lamina_${name} PRIVATE LibTorch::LibTorch)
    # The wheel brings its own, newer fmt headers, which come before the system's, without a library.
    target_compile_definitions(lamina_${name} PRIVATE FMT_HEADER_ONLY)
    target_precompile_headers(lamina_${name} PRIVATE <ATen/ATen.h>)
  endif()
endfunction()
