# Fuzz targets: fuzz/<name>_fuzz.cc with its corpus in fuzz/corpus/<name>/. A
# target links the modules whose headers it includes. In every build its corpus
# is a test: in preset asan of the libFuzzer program, else of <name>_corpus.

add_custom_target(fuzz_targets)

# fuzz_modules(<file> <out>): the libraries of the folders that a file, or a
# header of fuzz/ that it includes, includes from.
function(fuzz_modules file out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^#include \"[a-z0-9_/]+/[a-z0-9_]+\\.h\"")
  set(modules "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"(.+)/[^/]+\".*$" "\\1" folder "${line}")
    string(REPLACE "/" "_" module ${folder})
    if(TARGET ${module})
      list(APPEND modules ${module})
    elseif("${line}" MATCHES "\"(fuzz/[^\"]+)\"" AND EXISTS ${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_1})
      fuzz_modules(${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_1} more)
      list(APPEND modules ${more})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES modules)
  set(${out} ${modules} PARENT_SCOPE)
endfunction()

function(fuzz_target file)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  fuzz_modules(${file} modules)

  set(corpus ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
  if(NOT IS_DIRECTORY ${corpus})
    message(FATAL_ERROR "${file} has no seeds in fuzz/corpus/${name}")
  endif()

  if(PROJECT_SANITIZE MATCHES "fuzzer-no-link")
    set(program ${name}_fuzz)
    set(arguments -runs=0 ${corpus})
    add_executable(${program} ${file})
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_targets ${program})
  else()
    set(program ${name}_corpus)
    set(arguments ${corpus})
    add_executable(${program} ${file} ${CMAKE_SOURCE_DIR}/fuzz/corpus_main.cc)
  endif()
  target_link_libraries(${program} PRIVATE project_flags fmt::fmt ${modules})
  add_test(NAME fuzz_${name} COMMAND ${program} ${arguments})
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)
endfunction()

file(GLOB fuzz_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc)
foreach(file IN LISTS fuzz_files)
  fuzz_target(${file})
endforeach()
