# Every library that is not ours, in one place. `./dev setup` installs them.

find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(PostgreSQL 15 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(spdlog REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(yamlcpp REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
# Its -pthread does not go with the precompiled header; Threads::Threads links it anyway.
set_target_properties(PkgConfig::re2 PROPERTIES INTERFACE_COMPILE_OPTIONS "")
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(cares REQUIRED IMPORTED_TARGET libcares)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(snappy REQUIRED IMPORTED_TARGET snappy)
pkg_check_modules(argon2 REQUIRED IMPORTED_TARGET libargon2)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_package(CLI11 REQUIRED)
# Into a program itself, so that it needs no library beside it; a sanitizer brings its own.
find_library(JEMALLOC libjemalloc_pic.a REQUIRED)
add_library(allocator INTERFACE)
if(NOT PROJECT_SANITIZE)
  target_link_libraries(allocator INTERFACE -Wl,--whole-archive ${JEMALLOC} -Wl,--no-whole-archive)
endif()

# The embedded engine comes as a shared library and a header; `./dev setup`
# puts both here. The version is part of the folder's name.
set(DUCKDB_ROOT ${CMAKE_SOURCE_DIR}/.dev/tools/duckdb-1.5.5 CACHE PATH "Folder with duckdb.h and libduckdb.so")
add_library(duckdb SHARED IMPORTED)
set_target_properties(duckdb PROPERTIES
  IMPORTED_LOCATION ${DUCKDB_ROOT}/libduckdb.so
  INTERFACE_INCLUDE_DIRECTORIES ${DUCKDB_ROOT})
