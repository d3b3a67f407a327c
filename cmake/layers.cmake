# The house: which folder may include which. base <- model <- stages <- app.
# Direct arrows only; a folder lists every folder whose headers it includes.

room(base/core LINKS fmt::fmt OpenSSL::Crypto)
room(base/runtime USES base/core LINKS Boost::headers Threads::Threads)
room(base/log USES base/core base/json LINKS spdlog::spdlog fmt::fmt)
room(base/metrics USES base/core LINKS prometheus-cpp::core)
room(base/json USES base/core LINKS Boost::json)
room(base/config USES base/core LINKS PkgConfig::tomlplusplus PkgConfig::yamlcpp)
room(base/crypto USES base/core LINKS OpenSSL::Crypto)
room(base/gzip USES base/core LINKS ZLIB::ZLIB)
room(base/jose USES base/core base/json base/crypto base/runtime base/http LINKS OpenSSL::Crypto
  TEST_USES base/testing)
room(base/websocket USES base/core base/runtime base/http LINKS OpenSSL::SSL Boost::headers TEST_USES base/testing)
room(base/http USES base/core base/runtime LINKS OpenSSL::SSL Boost::headers TEST_USES base/testing)
room(base/postgres USES base/core base/runtime LINKS PostgreSQL::PostgreSQL TEST_USES base/testing)
room(base/duckdb USES base/core LINKS duckdb TEST_USES base/testing)
room(base/avro USES base/core base/json LINKS ZLIB::ZLIB PkgConfig::zstd PkgConfig::snappy OpenSSL::Crypto
  TEST_USES base/testing)
room(base/testing USES base/core base/runtime LINKS Boost::headers GTest::gmock)

# Values of Iceberg and of the lake, and their JSON.
room(lakeproxy/model USES base/core base/json TEST_USES lakeproxy/model/table)
room(lakeproxy/model/schema USES base/core base/json lakeproxy/model)
room(lakeproxy/model/table USES base/core base/json lakeproxy/model lakeproxy/model/schema TEST_USES base/testing)
room(lakeproxy/model/change USES base/core base/json lakeproxy/model lakeproxy/model/schema lakeproxy/model/table)
room(lakeproxy/model/view USES base/core base/json lakeproxy/model/schema lakeproxy/model/table lakeproxy/model/change)
room(lakeproxy/settings USES base/core base/config base/log lakeproxy/model)
# The bytes of Iceberg's files: values, manifests and their lists, Puffin; and what a snapshot of the lake is in them.
room(lakeproxy/materialize/value USES base/core lakeproxy/model/schema)
room(lakeproxy/materialize/manifest USES base/core base/json base/avro lakeproxy/model/schema lakeproxy/model/table
  lakeproxy/materialize/value TEST_USES base/testing)
room(lakeproxy/materialize/puffin USES base/core base/json LINKS ZLIB::ZLIB TEST_USES base/testing)
room(lakeproxy/materialize/snapshot USES base/core base/json lakeproxy/model/schema lakeproxy/model/table
  lakeproxy/materialize/value lakeproxy/materialize/manifest lakeproxy/materialize/puffin)

room(lakeproxy/measure USES base/core base/runtime base/postgres)

# The lake's tables in PostgreSQL: a lake, what is read of it, what a commit is, what is written in one.
room(lakeproxy/ducklake/lake USES base/core base/postgres base/runtime lakeproxy/model
  TEST_USES base/testing lakeproxy/ducklake/read lakeproxy/objects)
embed_texts(lakeproxy_ducklake_lake lake_migrations ${CMAKE_SOURCE_DIR}/db/migrations/*.sql)
embed_texts(lakeproxy_ducklake_lake lake_tables ${CMAKE_SOURCE_DIR}/db/ducklake/*.sql)
room(lakeproxy/ducklake/definition USES base/core base/json base/postgres lakeproxy/materialize/manifest
  lakeproxy/model lakeproxy/model/schema lakeproxy/model/table lakeproxy/ducklake/lake)
room(lakeproxy/ducklake/read USES base/core base/json base/postgres base/runtime lakeproxy/model
  lakeproxy/model/change lakeproxy/model/schema lakeproxy/model/table lakeproxy/ducklake/lake
  lakeproxy/ducklake/definition TEST_USES base/testing)
room(lakeproxy/ducklake/commit USES base/core base/postgres base/runtime lakeproxy/measure lakeproxy/model
  lakeproxy/model/table lakeproxy/ducklake/lake TEST_USES base/testing)
room(lakeproxy/ducklake/rows USES base/core base/json base/postgres lakeproxy/materialize/snapshot
  lakeproxy/materialize/value lakeproxy/model/change lakeproxy/model/schema lakeproxy/model/table
  lakeproxy/ducklake/lake lakeproxy/ducklake/definition lakeproxy/ducklake/commit)
room(lakeproxy/ducklake/upkeep USES base/core base/postgres base/runtime lakeproxy/model lakeproxy/model/table
  lakeproxy/ducklake/lake TEST_USES base/testing)
room(lakeproxy/ducklake/write USES base/core base/json base/postgres base/runtime lakeproxy/materialize/snapshot
  lakeproxy/model/table lakeproxy/ducklake/lake lakeproxy/ducklake/definition lakeproxy/ducklake/read
  lakeproxy/ducklake/commit lakeproxy/ducklake/rows lakeproxy/ducklake/upkeep
  TEST_USES base/testing lakeproxy/materialize/value lakeproxy/model/change)
room(lakeproxy/ducklake/views USES base/core base/json base/postgres base/runtime lakeproxy/model lakeproxy/model/view
  lakeproxy/ducklake/lake lakeproxy/ducklake/commit
  TEST_USES base/testing lakeproxy/ducklake/write lakeproxy/model/change)

room(lakeproxy/objects USES base/core base/runtime base/http lakeproxy/measure LINKS OpenSSL::Crypto TEST_USES base/testing)

# Data work on the embedded engine: files on their way to it, what stands in a Parquet file, deletes of clients and of
# the lake, rows that an equality delete means, rows that PostgreSQL keeps, a lake made small; and what makes use of them.
room(lakeproxy/export/files USES base/core base/metrics base/runtime lakeproxy/objects TEST_USES base/duckdb base/testing)
room(lakeproxy/export/parquet USES base/core base/duckdb lakeproxy/model lakeproxy/model/schema lakeproxy/model/table
  lakeproxy/export/files TEST_USES base/testing)
room(lakeproxy/export/deletes USES base/core base/duckdb lakeproxy/materialize/puffin lakeproxy/model
  lakeproxy/model/schema lakeproxy/model/table lakeproxy/objects lakeproxy/export/files lakeproxy/export/parquet
  TEST_USES base/testing)
room(lakeproxy/export/equality USES base/core base/duckdb base/runtime lakeproxy/materialize/puffin
  lakeproxy/materialize/value lakeproxy/model/schema lakeproxy/export/files lakeproxy/export/parquet
  lakeproxy/export/deletes)
room(lakeproxy/export/inlined USES base/core base/duckdb lakeproxy/materialize/snapshot lakeproxy/model/schema
  lakeproxy/export/files lakeproxy/export/parquet TEST_USES base/testing)
room(lakeproxy/export/compaction USES base/core base/duckdb base/runtime lakeproxy/export/files)
room(lakeproxy/export USES base/core base/duckdb base/runtime lakeproxy/materialize/puffin
  lakeproxy/materialize/snapshot lakeproxy/objects lakeproxy/export/files lakeproxy/export/parquet
  lakeproxy/export/deletes lakeproxy/export/equality lakeproxy/export/inlined
  TEST_USES base/testing lakeproxy/materialize/value)

room(lakeproxy/publish USES base/core base/avro base/gzip base/json base/runtime base/http base/metrics base/postgres
  lakeproxy/materialize/manifest lakeproxy/materialize/puffin lakeproxy/materialize/snapshot lakeproxy/model lakeproxy/model/change lakeproxy/model/schema
  lakeproxy/model/table lakeproxy/model/view
  lakeproxy/export/files lakeproxy/export lakeproxy/objects lakeproxy/ducklake/lake lakeproxy/ducklake/commit lakeproxy/ducklake/read
  lakeproxy/ducklake/write TEST_USES base/testing base/duckdb)

room(lakeproxy/auth)
room(lakeproxy/govern USES base/core lakeproxy/auth lakeproxy/model)
# What every operation stands on, what a client's commit says and becomes, what a metadata file made elsewhere
# brings; then the operations themselves, a file for each.
room(lakeproxy/operation/catalog USES base/core base/log base/metrics base/runtime lakeproxy/measure lakeproxy/model
  lakeproxy/model/table lakeproxy/publish lakeproxy/export/compaction lakeproxy/export lakeproxy/objects lakeproxy/ducklake/read
  lakeproxy/ducklake/commit lakeproxy/ducklake/rows lakeproxy/ducklake/upkeep lakeproxy/ducklake/write
  lakeproxy/ducklake/views)
room(lakeproxy/operation/commit USES base/core base/json base/runtime lakeproxy/materialize/manifest
  lakeproxy/materialize/snapshot lakeproxy/model lakeproxy/model/change lakeproxy/model/schema lakeproxy/model/table
  lakeproxy/publish lakeproxy/export/deletes lakeproxy/export lakeproxy/objects lakeproxy/ducklake/read lakeproxy/ducklake/rows
  lakeproxy/ducklake/write lakeproxy/operation/catalog)
room(lakeproxy/operation/register USES base/core base/gzip base/json base/runtime lakeproxy/materialize/manifest
  lakeproxy/model/change lakeproxy/model/table lakeproxy/export lakeproxy/objects lakeproxy/ducklake/rows
  lakeproxy/ducklake/write lakeproxy/operation/catalog lakeproxy/operation/commit)
room(lakeproxy/operation USES base/core base/json base/log base/metrics base/runtime lakeproxy/model
  lakeproxy/model/change lakeproxy/model/view lakeproxy/govern lakeproxy/publish lakeproxy/export/compaction lakeproxy/objects
  lakeproxy/ducklake/lake lakeproxy/ducklake/upkeep lakeproxy/operation/catalog lakeproxy/operation/commit
  lakeproxy/operation/register)

room(lakeproxy/route USES base/core base/crypto base/json base/http base/metrics base/log base/runtime lakeproxy/model
  lakeproxy/model/change lakeproxy/model/view lakeproxy/auth lakeproxy/govern lakeproxy/operation
  lakeproxy/operation/catalog lakeproxy/publish
  lakeproxy/ducklake/lake TEST_USES base/testing)

room(lakeproxy/tasks USES base/core base/log base/metrics base/runtime base/postgres
  lakeproxy/operation/catalog lakeproxy/publish lakeproxy/objects lakeproxy/ducklake/upkeep)

room(lakeproxy/app USES base/core base/config base/json base/log base/metrics base/runtime base/http base/postgres base/duckdb
  lakeproxy/settings lakeproxy/route lakeproxy/operation lakeproxy/operation/catalog lakeproxy/publish lakeproxy/export lakeproxy/export/compaction
  lakeproxy/export/files lakeproxy/objects lakeproxy/measure lakeproxy/tasks
  lakeproxy/ducklake/lake lakeproxy/ducklake/commit lakeproxy/ducklake/upkeep lakeproxy/ducklake/views)
program(lakeproxy lakeproxy/app LINKS CLI11::CLI11)


# The tool service: a message walks down from app to audit.
room(toolserver/model USES base/core base/json base/runtime base/crypto)
room(toolserver/settings USES base/core base/config base/log toolserver/model TEST_USES base/testing)
room(toolserver/audit USES base/core base/json base/crypto base/runtime toolserver/model TEST_USES base/testing)
room(toolserver/connectors USES base/core base/json base/runtime toolserver/model)
room(toolserver/connectors/echo USES base/core base/json base/runtime toolserver/model toolserver/connectors)
room(toolserver/connectors/sql USES base/core base/json base/runtime base/crypto base/duckdb toolserver/model toolserver/connectors
  TEST_USES base/testing)
room(toolserver/connectors/files USES base/core base/json base/runtime base/crypto toolserver/model toolserver/connectors
  TEST_USES base/testing)
room(toolserver/pipeline USES base/core base/json base/crypto base/runtime base/http base/log base/metrics toolserver/model
  toolserver/connectors toolserver/audit LINKS PkgConfig::re2 TEST_USES base/testing)
room(toolserver/session USES base/core base/json base/crypto base/jose toolserver/model TEST_USES base/testing)
room(toolserver/transport USES base/core base/json base/runtime base/http base/websocket base/log base/metrics base/crypto
  base/jose toolserver/model toolserver/session toolserver/pipeline toolserver/audit TEST_USES base/testing)
room(toolserver/client USES base/core base/json base/runtime base/http base/websocket base/crypto base/jose toolserver/model
  toolserver/settings toolserver/session TEST_USES base/testing)
room(toolserver/app USES base/core base/config base/json base/log base/metrics base/runtime base/http base/websocket
  base/crypto base/jose base/duckdb toolserver/model toolserver/settings toolserver/session toolserver/transport
  toolserver/pipeline toolserver/connectors toolserver/connectors/echo toolserver/connectors/sql
  toolserver/connectors/files toolserver/audit toolserver/client TEST_USES base/testing)
program(securetool toolserver/app LINKS CLI11::CLI11)
# The engine is a library of .dev/tools, which has to stay where it is.
set_target_properties(securetool PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS securetool RUNTIME COMPONENT securetool)

# What a program that links the client looks like.
room(examples/call_tool USES base/core base/json base/runtime toolserver/model toolserver/session toolserver/client)
program(call_tool examples/call_tool)

# Peers for tests that cross folders.
room(tests/integration/websocket_echo USES base/core base/runtime base/http base/websocket)
program(websocket_echo tests/integration/websocket_echo LINKS CLI11::CLI11)
room(tests/integration/lasting_client USES base/core base/config base/json base/runtime toolserver/model
  toolserver/settings toolserver/session toolserver/client toolserver/app)
program(lasting_client tests/integration/lasting_client)

# lakeproxy with a watch on the steps of its commits, for tests/faults.
room(tests/faults/server USES base/core base/config base/runtime lakeproxy/settings lakeproxy/app
  lakeproxy/ducklake/commit)
program(faulty_lakeproxy tests/faults/server)

# The loads of `./dev bench`.
room(bench/samples LINKS fmt::fmt)
room(bench/requests USES base/core base/json base/runtime base/http bench/samples)
program(request_load bench/requests LINKS CLI11::CLI11)
room(bench/tools/load USES base/core base/json base/runtime base/websocket toolserver/model toolserver/session
  toolserver/client bench/samples)
program(tool_load bench/tools/load LINKS CLI11::CLI11)

check_arrows()
