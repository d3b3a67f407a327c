# The house: which folder may include which. base <- model <- stages <- app.
# Direct arrows only; a folder lists every folder whose headers it includes.

room(base/core LINKS fmt::fmt OpenSSL::Crypto)
room(base/runtime USES base/core LINKS Boost::headers Threads::Threads)
room(base/log USES base/core base/json LINKS spdlog::spdlog fmt::fmt)
room(base/metrics USES base/core LINKS prometheus-cpp::core)
room(base/json USES base/core LINKS Boost::json)
room(base/config USES base/core LINKS PkgConfig::tomlplusplus)
room(base/http USES base/core base/runtime LINKS OpenSSL::SSL Boost::headers TEST_USES base/testing)
room(base/postgres USES base/core base/runtime LINKS PostgreSQL::PostgreSQL TEST_USES base/testing)
room(base/duckdb USES base/core LINKS duckdb TEST_USES base/testing)
room(base/avro USES base/core base/json LINKS ZLIB::ZLIB PkgConfig::zstd PkgConfig::snappy OpenSSL::Crypto
  TEST_USES base/testing)
room(base/testing USES base/core base/runtime LINKS Boost::headers GTest::gmock)

room(lakeproxy/model USES base/core base/json TEST_USES base/testing)
room(lakeproxy/settings USES base/core base/config base/log)
room(lakeproxy/materialize USES base/core base/json base/avro lakeproxy/model TEST_USES base/testing)

room(lakeproxy/ducklake USES base/core base/json base/runtime base/postgres lakeproxy/model lakeproxy/materialize
  TEST_USES base/testing)
embed_texts(lakeproxy_ducklake lake_migrations ${CMAKE_SOURCE_DIR}/db/migrations/*.sql)
embed_texts(lakeproxy_ducklake lake_tables ${CMAKE_SOURCE_DIR}/db/ducklake/*.sql)

room(lakeproxy/objects USES base/core base/runtime base/http LINKS OpenSSL::Crypto TEST_USES base/testing)

room(lakeproxy/export USES base/core base/runtime base/json base/duckdb base/http lakeproxy/model lakeproxy/materialize
  lakeproxy/objects LINKS ZLIB::ZLIB TEST_USES base/testing)

room(lakeproxy/publish USES base/core base/json base/runtime base/http base/metrics lakeproxy/model lakeproxy/ducklake
  lakeproxy/materialize lakeproxy/export lakeproxy/objects TEST_USES base/testing)

room(lakeproxy/auth)
room(lakeproxy/govern USES base/core lakeproxy/auth)
room(lakeproxy/operation USES base/core base/json base/log base/runtime lakeproxy/model lakeproxy/govern lakeproxy/publish
  lakeproxy/ducklake lakeproxy/materialize lakeproxy/objects TEST_USES base/testing)

room(lakeproxy/route USES base/core base/json base/http base/metrics base/log base/runtime lakeproxy/model lakeproxy/auth
  lakeproxy/govern lakeproxy/operation lakeproxy/publish lakeproxy/ducklake TEST_USES base/testing)

room(lakeproxy/app USES base/core base/config base/json base/log base/metrics base/runtime base/http base/postgres base/duckdb
  lakeproxy/settings lakeproxy/route lakeproxy/operation lakeproxy/publish lakeproxy/ducklake lakeproxy/export
  lakeproxy/objects)
program(lakeproxy lakeproxy/app LINKS CLI11::CLI11)

check_arrows()
