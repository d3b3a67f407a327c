# Flags for every target, and the sanitizer switch that the presets set.

add_library(project_flags INTERFACE)
target_compile_options(project_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  -Wno-missing-field-initializers -Werror)
target_include_directories(project_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(project_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_HAS_STD_COROUTINE FMT_HEADER_ONLY=0)

# Every address is resolved at the start and read-only from then on.
add_link_options(-Wl,-z,relro,-z,now)

# fuzzer-no-link counts which branches were taken. Without libFuzzer nobody reads the counts, so
# that one build serves the tests and the fuzz targets.
set(PROJECT_SANITIZE "" CACHE STRING "Sanitizers: empty, 'fuzzer-no-link,address,undefined' or 'thread'")
if(PROJECT_SANITIZE)
  target_compile_options(project_flags INTERFACE
    -fsanitize=${PROJECT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(project_flags INTERFACE -fsanitize=${PROJECT_SANITIZE})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/compile.sh ${CMAKE_SOURCE_DIR})
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
endif()
