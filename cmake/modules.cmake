# A module is one folder, one static library and one test binary. The modules that
# a module may include are the modules it links, so an arrow that is not in
# layers.cmake is either a missing header or a message from check_arrows.

# module(<folder> [USES <folder>...] [LINKS <library>...] [TEST_USES <folder>...])
# Sources are *.cc; *_test.cc go into <module>_test; main.cc makes no library.
function(module folder)
  cmake_parse_arguments(ARG "" "" "USES;LINKS;TEST_USES" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  set(dir ${CMAKE_SOURCE_DIR}/${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${dir}/*_test.cc)
  file(GLOB benches CONFIGURE_DEPENDS ${dir}/*_bench.cc)
  list(REMOVE_ITEM sources ${tests} ${benches} ${dir}/main.cc)
  string(REPLACE "/" "_" uses "${ARG_USES}")
  string(REPLACE "/" "_" test_uses "${ARG_TEST_USES}")

  if(sources)
    add_library(${name} STATIC ${sources})
    set(kind PUBLIC)
    target_precompile_headers(${name} REUSE_FROM project_pch)
    target_link_libraries(${name} PRIVATE project_pch)
  else()
    add_library(${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_link_libraries(${name} ${kind} project_flags ${uses} ${ARG_LINKS})

  if(tests)
    add_executable(${name}_test ${tests})
    target_precompile_headers(${name}_test REUSE_FROM project_pch)
    target_link_libraries(${name}_test PRIVATE project_pch ${name} ${test_uses} GTest::gmock GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  endif()
  if(benches)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE ${name} ${test_uses} benchmark::benchmark_main)
    # The BENCHMARK macro uses __COUNTER__.
    set_source_files_properties(${benches} PROPERTIES COMPILE_OPTIONS -Wno-c2y-extensions)
    set_target_properties(${name}_bench PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  string(REPLACE ";" " " arrow "${folder}: ${ARG_USES} | ${ARG_TEST_USES}")
  set_property(GLOBAL APPEND PROPERTY MODULE_ARROWS "${arrow}")
endfunction()

# program(<name> <folder> [LINKS <library>...]): <folder>/main.cc with the folder's module.
function(program name folder)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  string(REPLACE "/" "_" module ${folder})
  add_executable(${name} ${CMAKE_SOURCE_DIR}/${folder}/main.cc)
  target_link_libraries(${name} PRIVATE ${module} ${ARG_LINKS})
  string(TOUPPER ${name} upper)
  target_compile_definitions(${name} PRIVATE ${upper}_VERSION="${PROJECT_VERSION}")
endfunction()

# `cmake --install BUILD --component NAME`: a program with the engine's library beside it, so that
# both run wherever they are moved together.
function(install_program name)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/${name}")
  install(TARGETS ${name} RUNTIME COMPONENT ${name})
  install(FILES ${DUCKDB_ROOT}/libduckdb.so DESTINATION lib/${name} COMPONENT ${name})
endfunction()

# The headers nearly every file needs, compiled once.
file(WRITE ${CMAKE_BINARY_DIR}/pch.cc "")
add_library(project_pch STATIC ${CMAKE_BINARY_DIR}/pch.cc)
target_link_libraries(project_pch PUBLIC project_flags fmt::fmt Threads::Threads)
target_precompile_headers(project_pch PRIVATE
  <algorithm> <chrono> <cstdint> <expected> <functional> <map> <memory> <optional> <span>
  <string> <string_view> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp>
  <boost/asio/use_awaitable.hpp> <boost/asio/steady_timer.hpp> <boost/json/value.hpp>)

# Fails the build when a file includes a module that its own module does not use.
function(check_arrows)
  get_property(arrows GLOBAL PROPERTY MODULE_ARROWS)
  list(JOIN arrows "\n" lines)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/arrows.txt CONTENT "${lines}\n")
  add_custom_target(check_arrows ALL
    COMMAND python3 ${CMAKE_SOURCE_DIR}/cmake/check_arrows.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/arrows.txt
    COMMENT "Checking that includes follow cmake/layers.cmake")
endfunction()
