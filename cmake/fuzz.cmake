# Fuzz targets: fuzz/<name>_fuzz.cc with its corpus in fuzz/corpus/<name>/. A
# target links the modules whose headers it includes. In every build its corpus
# is a test; with PROJECT_FUZZ it is also a libFuzzer program.

option(PROJECT_FUZZ "Build the libFuzzer programs; the preset 'fuzz' sets it" OFF)
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

  add_executable(${name}_corpus ${file} ${CMAKE_SOURCE_DIR}/fuzz/corpus_main.cc)
  target_link_libraries(${name}_corpus PRIVATE project_flags fmt::fmt ${modules})
  set(corpus ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
  if(NOT IS_DIRECTORY ${corpus})
    set(corpus "")
  endif()
  add_test(NAME fuzz_${name} COMMAND ${name}_corpus ${corpus})
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)

  if(PROJECT_FUZZ)
    add_executable(${name}_fuzz EXCLUDE_FROM_ALL ${file})
    target_link_libraries(${name}_fuzz PRIVATE project_flags fmt::fmt ${modules})
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_targets ${name}_fuzz)
  endif()
endfunction()

file(GLOB fuzz_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc)
foreach(file IN LISTS fuzz_files)
  fuzz_target(${file})
endforeach()
