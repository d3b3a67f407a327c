# Which folder may include which. Lines go from the ground up: a folder includes folders of the groups
# above its own and, without a circle, of its own top folder. What goes against that says why.
# Direct arrows only; a folder lists every folder whose headers it includes.

module(base/core LINKS fmt::fmt OpenSSL::Crypto)
module(base/files USES base/core LINKS fmt::fmt TEST_USES base/testing)
module(base/runtime USES base/core LINKS Boost::headers Threads::Threads)
module(base/log USES base/core base/json LINKS spdlog::spdlog fmt::fmt)
module(base/metrics USES base/core LINKS prometheus-cpp::core)
module(base/json USES base/core LINKS Boost::json)
module(base/config USES base/core base/json LINKS PkgConfig::tomlplusplus PkgConfig::yamlcpp)
module(base/crypto USES base/core LINKS OpenSSL::Crypto PkgConfig::argon2 crypt)
module(base/gzip USES base/core LINKS ZLIB::ZLIB)
module(base/puffin USES base/core LINKS ZLIB::ZLIB)
module(base/jose USES base/core base/json base/crypto base/runtime base/http LINKS OpenSSL::Crypto
  TEST_USES base/testing)
module(base/websocket USES base/core base/runtime base/http LINKS OpenSSL::SSL Boost::headers TEST_USES base/testing)
module(base/http USES base/core base/runtime LINKS OpenSSL::SSL Boost::headers TEST_USES base/testing)
module(base/pages USES base/core base/crypto base/http)
module(base/postgres USES base/core base/runtime LINKS PostgreSQL::PostgreSQL TEST_USES base/testing)
module(base/duckdb USES base/core LINKS duckdb TEST_USES base/testing)
module(base/avro USES base/core base/json LINKS ZLIB::ZLIB PkgConfig::zstd PkgConfig::snappy OpenSSL::Crypto
  TEST_USES base/testing)
module(base/testing USES base/core base/runtime LINKS Boost::headers GTest::gmock)

# Values that every folder shares: ids, names, keys. What a request waits for.
module(lakeproxy/model USES base/core TEST_USES lakeproxy/iceberg/manifest lakeproxy/iceberg/metadata)
module(lakeproxy/measure USES base/postgres)

# Every setting, as a value.
module(lakeproxy/settings USES base/config base/core base/log lakeproxy/model)

# Who asks, and the tokens that say so.
module(lakeproxy/auth USES base/core base/crypto base/http base/jose base/json base/runtime lakeproxy/model)

# The hand-over: the proof that policy was asked.
module(lakeproxy/policy USES base/core base/runtime lakeproxy/auth lakeproxy/model)

# S3.
module(lakeproxy/storage USES base/core base/http base/runtime lakeproxy/measure LINKS OpenSSL::Crypto
  TEST_USES base/testing)

# Iceberg's values and formats, pure; the lake's own tables in PostgreSQL. Neither knows the other.
module(lakeproxy/iceberg/puffin USES base/core base/json base/puffin TEST_USES base/testing)
module(lakeproxy/iceberg/schema USES base/core base/json lakeproxy/model)
module(lakeproxy/iceberg/metadata USES base/core base/json lakeproxy/iceberg/schema lakeproxy/model
  TEST_USES base/testing)
module(lakeproxy/iceberg/value USES base/core lakeproxy/iceberg/schema)
module(lakeproxy/iceberg/manifest USES base/avro base/core base/json lakeproxy/iceberg/metadata
  lakeproxy/iceberg/schema lakeproxy/iceberg/value lakeproxy/model TEST_USES base/testing)
module(lakeproxy/iceberg/scan USES base/core base/json lakeproxy/iceberg/manifest lakeproxy/iceberg/schema
  lakeproxy/iceberg/value lakeproxy/model)
module(lakeproxy/iceberg/update USES base/core base/json lakeproxy/iceberg/metadata lakeproxy/iceberg/schema
  lakeproxy/model)
module(lakeproxy/iceberg/view USES base/core base/json lakeproxy/iceberg/metadata lakeproxy/iceberg/schema
  lakeproxy/iceberg/update)
module(lakeproxy/ducklake/lake USES base/core base/postgres base/runtime lakeproxy/model TEST_USES base/testing
  lakeproxy/ducklake/read lakeproxy/storage)
embed_texts(lakeproxy_ducklake_lake lake_schema ${CMAKE_SOURCE_DIR}/db/*.sql)
embed_texts(lakeproxy_ducklake_lake lake_migrations ${CMAKE_SOURCE_DIR}/db/migrations/*.sql)
embed_texts(lakeproxy_ducklake_lake lake_tables ${CMAKE_SOURCE_DIR}/db/ducklake/*.sql)
embed_texts(lakeproxy_ducklake_lake lake_upgrades ${CMAKE_SOURCE_DIR}/db/upgrade/*.sql)
# Against the order, to iceberg/manifest, iceberg/metadata, iceberg/schema: LakeTable holds what is shown of it, an
# Iceberg TableMetadata, beside the rows. Goes when it is split in two values.
module(lakeproxy/ducklake/table USES lakeproxy/iceberg/manifest lakeproxy/iceberg/metadata lakeproxy/iceberg/schema
  lakeproxy/model)
module(lakeproxy/ducklake/commit USES base/core base/postgres base/runtime lakeproxy/ducklake/lake
  lakeproxy/ducklake/table lakeproxy/measure lakeproxy/model TEST_USES base/testing)
module(lakeproxy/ducklake/maintenance USES base/core lakeproxy/ducklake/lake lakeproxy/ducklake/table
  lakeproxy/model TEST_USES base/testing)
# Against the order, to iceberg/metadata, iceberg/schema, iceberg/update, mapping, to_iceberg/definition:
# LakeReader::load_table translates as it reads. Goes with the split of LakeTable.
module(lakeproxy/ducklake/read USES base/core base/json base/postgres base/runtime lakeproxy/ducklake/lake
  lakeproxy/ducklake/table lakeproxy/iceberg/metadata lakeproxy/iceberg/schema lakeproxy/iceberg/update
  lakeproxy/mapping lakeproxy/model lakeproxy/to_iceberg/definition TEST_USES base/testing)
module(lakeproxy/ducklake/registry USES base/core base/json lakeproxy/ducklake/lake lakeproxy/model
  TEST_USES base/runtime base/testing)

# Logins of PostgreSQL for those who read a lake with DuckDB itself.
module(lakeproxy/ducklake/readers USES base/core base/crypto base/log base/postgres base/runtime lakeproxy/ducklake/lake
  lakeproxy/model TEST_USES base/testing)

# What was decided, kept for later.
module(lakeproxy/audit USES base/core base/crypto base/json base/log base/postgres base/runtime lakeproxy/auth
  lakeproxy/ducklake/lake TEST_USES base/testing)

# Tags, policies and roles: written, and resolved into the plan of a read.
module(lakeproxy/governance USES base/core base/crypto base/duckdb base/json base/postgres base/runtime
  lakeproxy/audit lakeproxy/auth lakeproxy/ducklake/lake lakeproxy/model lakeproxy/policy TEST_USES base/testing)

# How the one says what the other says: types, texts, transforms, and the rows that we keep beside the lake's.
module(lakeproxy/mapping USES base/core base/json base/postgres lakeproxy/ducklake/commit lakeproxy/ducklake/lake
  lakeproxy/ducklake/table lakeproxy/iceberg/metadata lakeproxy/iceberg/schema lakeproxy/model TEST_USES base/testing)

# The embedded engine: its pools, Parquet, deletes.
module(lakeproxy/engine/files USES base/core base/metrics base/runtime lakeproxy/storage TEST_USES base/duckdb
  base/testing)
module(lakeproxy/engine/parquet USES base/core base/duckdb lakeproxy/ducklake/table lakeproxy/engine/files
  lakeproxy/iceberg/schema lakeproxy/model TEST_USES base/testing)
module(lakeproxy/engine/deletes USES base/core base/duckdb base/puffin lakeproxy/ducklake/table lakeproxy/engine/files
  lakeproxy/engine/parquet lakeproxy/iceberg/manifest lakeproxy/iceberg/puffin lakeproxy/iceberg/schema
  lakeproxy/model lakeproxy/storage TEST_USES base/testing)
module(lakeproxy/engine/equality USES base/core base/duckdb base/puffin base/runtime lakeproxy/engine/deletes
  lakeproxy/engine/files lakeproxy/engine/parquet lakeproxy/iceberg/schema
  lakeproxy/iceberg/value lakeproxy/mapping)

# Files made for rows and deletes that no Iceberg client can read as they are.
module(lakeproxy/derive/plan USES base/core lakeproxy/ducklake/table lakeproxy/iceberg/metadata
  lakeproxy/iceberg/puffin lakeproxy/model)
module(lakeproxy/derive/readable USES base/core base/duckdb lakeproxy/ducklake/table lakeproxy/engine/files
  lakeproxy/engine/parquet TEST_USES base/testing)
module(lakeproxy/derive/masked USES base/core base/duckdb base/json lakeproxy/engine/parquet lakeproxy/iceberg/schema
  TEST_USES base/testing lakeproxy/engine/files)
module(lakeproxy/derive/inlined USES base/core base/duckdb lakeproxy/derive/plan lakeproxy/derive/readable
  lakeproxy/engine/files
  lakeproxy/engine/parquet lakeproxy/iceberg/schema TEST_USES base/testing)
module(lakeproxy/derive USES base/core base/duckdb base/puffin base/runtime lakeproxy/derive/inlined lakeproxy/derive/masked
  lakeproxy/derive/plan lakeproxy/derive/readable
  lakeproxy/engine/deletes lakeproxy/engine/equality lakeproxy/engine/files lakeproxy/engine/parquet
  lakeproxy/iceberg/puffin lakeproxy/storage TEST_USES base/testing lakeproxy/iceberg/value)

# The two directions. They meet only above.
module(lakeproxy/to_iceberg/definition USES base/core lakeproxy/ducklake/table lakeproxy/iceberg/schema
  lakeproxy/mapping lakeproxy/model)
module(lakeproxy/to_iceberg/snapshot USES base/core base/json lakeproxy/derive/plan lakeproxy/ducklake/table
  lakeproxy/iceberg/manifest lakeproxy/iceberg/metadata lakeproxy/iceberg/value lakeproxy/mapping)
# Against the order, to from_iceberg/write: NaN counts are recorded by LakeWriter. Goes when they are a function of
# their own, as publication_records are.
module(lakeproxy/to_iceberg/publish USES base/core base/gzip base/json base/log base/metrics base/postgres base/puffin
  base/runtime lakeproxy/derive lakeproxy/derive/plan lakeproxy/ducklake/commit lakeproxy/ducklake/lake
  lakeproxy/ducklake/read lakeproxy/ducklake/table lakeproxy/engine/files lakeproxy/from_iceberg/write
  lakeproxy/iceberg/manifest lakeproxy/iceberg/metadata lakeproxy/iceberg/puffin lakeproxy/iceberg/schema
  lakeproxy/iceberg/update lakeproxy/iceberg/view lakeproxy/mapping lakeproxy/model lakeproxy/storage
  lakeproxy/to_iceberg/definition lakeproxy/to_iceberg/snapshot TEST_USES base/testing)
module(lakeproxy/from_iceberg/rows USES base/core base/json base/postgres lakeproxy/derive/plan
  lakeproxy/ducklake/commit lakeproxy/ducklake/lake lakeproxy/ducklake/table lakeproxy/iceberg/manifest
  lakeproxy/iceberg/metadata lakeproxy/iceberg/schema lakeproxy/iceberg/value lakeproxy/mapping)
# Against the order, to operation/catalog: They are handed struct Catalog whole. Goes when each takes the services
# that it uses.
module(lakeproxy/from_iceberg/files USES base/core base/runtime lakeproxy/derive lakeproxy/ducklake/read
  lakeproxy/to_iceberg/definition
  lakeproxy/engine/deletes lakeproxy/from_iceberg/rows lakeproxy/iceberg/manifest lakeproxy/iceberg/metadata
  lakeproxy/iceberg/schema lakeproxy/mapping lakeproxy/operation/catalog lakeproxy/storage)
module(lakeproxy/from_iceberg/write USES base/core base/json lakeproxy/derive/plan lakeproxy/ducklake/commit
  lakeproxy/ducklake/lake lakeproxy/ducklake/maintenance lakeproxy/ducklake/read lakeproxy/ducklake/table
  lakeproxy/from_iceberg/rows lakeproxy/mapping TEST_USES base/runtime base/testing lakeproxy/iceberg/metadata
  lakeproxy/iceberg/update lakeproxy/iceberg/value lakeproxy/to_iceberg/publish)
# Against the order, to operation/catalog: They are handed struct Catalog whole. Goes when each takes the services
# that it uses.
module(lakeproxy/from_iceberg/deletes USES base/core base/runtime lakeproxy/derive lakeproxy/derive/plan
  lakeproxy/engine/deletes lakeproxy/from_iceberg/files lakeproxy/from_iceberg/rows lakeproxy/operation/catalog)
# Against the order, to operation/catalog: They are handed struct Catalog whole. Goes when each takes the services
# that it uses.
# Against the order, to to_iceberg/publish: A commit begins at the LoadedTable that a load answers. Goes when the
# table and its answer are two values.
module(lakeproxy/from_iceberg/commit USES base/json base/runtime lakeproxy/derive/plan lakeproxy/ducklake/table
  lakeproxy/from_iceberg/deletes lakeproxy/from_iceberg/files lakeproxy/from_iceberg/write lakeproxy/iceberg/update
  lakeproxy/model lakeproxy/operation/catalog lakeproxy/storage lakeproxy/to_iceberg/publish)
# Against the order, to operation/catalog: They are handed struct Catalog whole. Goes when each takes the services
# that it uses.
module(lakeproxy/from_iceberg/import USES base/core base/gzip base/json lakeproxy/derive lakeproxy/from_iceberg/deletes
  lakeproxy/from_iceberg/files lakeproxy/from_iceberg/rows lakeproxy/from_iceberg/write lakeproxy/iceberg/metadata
  lakeproxy/iceberg/update lakeproxy/operation/catalog lakeproxy/storage)
module(lakeproxy/views USES base/core base/json base/postgres lakeproxy/ducklake/commit lakeproxy/ducklake/lake
  lakeproxy/iceberg/view lakeproxy/mapping lakeproxy/model TEST_USES base/testing lakeproxy/from_iceberg/write
  lakeproxy/iceberg/update)

# Loaded tables in memory.
module(lakeproxy/table_cache USES base/core base/metrics base/runtime lakeproxy/ducklake/read lakeproxy/model
  lakeproxy/to_iceberg/publish TEST_USES base/duckdb base/gzip base/testing lakeproxy/ducklake/lake
  lakeproxy/engine/files lakeproxy/iceberg/update)

# Tables as masked principals see them: copies of files, and Iceberg metadata over these.
module(lakeproxy/to_iceberg/masked USES base/core base/json base/log base/metrics base/postgres base/runtime
  lakeproxy/derive lakeproxy/derive/plan lakeproxy/ducklake/lake lakeproxy/iceberg/manifest
  lakeproxy/iceberg/metadata lakeproxy/iceberg/scan lakeproxy/iceberg/schema lakeproxy/model lakeproxy/policy
  lakeproxy/table_cache lakeproxy/to_iceberg/publish lakeproxy/to_iceberg/snapshot TEST_USES base/testing)

# Which files a scan reads.
module(lakeproxy/planning USES base/core base/runtime lakeproxy/iceberg/scan lakeproxy/to_iceberg/publish
  TEST_USES base/testing)

# Off the path of requests.
module(lakeproxy/maintenance/compaction USES base/core base/duckdb base/runtime lakeproxy/engine/files)
# Against the order, to operation/catalog: It is handed struct Catalog whole. Goes when it takes the services that
# it uses.
module(lakeproxy/maintenance/eager USES base/log base/metrics base/postgres lakeproxy/operation/catalog)
module(lakeproxy/maintenance/removal USES base/core base/json base/log base/runtime lakeproxy/ducklake/maintenance
  lakeproxy/storage lakeproxy/to_iceberg/publish)

# One file for each REST operation.
module(lakeproxy/operation/catalog USES base/core base/json base/log base/metrics base/runtime
  lakeproxy/ducklake/commit lakeproxy/ducklake/maintenance lakeproxy/ducklake/read lakeproxy/from_iceberg/write
  lakeproxy/iceberg/metadata lakeproxy/maintenance/compaction lakeproxy/measure lakeproxy/model lakeproxy/storage
  lakeproxy/policy lakeproxy/auth lakeproxy/table_cache lakeproxy/to_iceberg/masked lakeproxy/to_iceberg/publish
  lakeproxy/views)
module(lakeproxy/operation USES base/core base/crypto base/duckdb base/json base/metrics base/runtime lakeproxy/auth lakeproxy/ducklake/lake
  lakeproxy/engine/files lakeproxy/engine/parquet lakeproxy/governance lakeproxy/iceberg/schema
  lakeproxy/ducklake/maintenance lakeproxy/ducklake/readers lakeproxy/ducklake/registry lakeproxy/from_iceberg/commit
  lakeproxy/from_iceberg/import lakeproxy/iceberg/metadata lakeproxy/iceberg/update lakeproxy/iceberg/view
  lakeproxy/iceberg/scan lakeproxy/maintenance/compaction lakeproxy/maintenance/removal lakeproxy/model
  lakeproxy/operation/catalog lakeproxy/planning lakeproxy/policy lakeproxy/storage lakeproxy/to_iceberg/definition lakeproxy/to_iceberg/masked
  lakeproxy/to_iceberg/publish
  TEST_USES base/gzip)

# How clients reach the objects of a table: what their keys open, and who makes them.
module(lakeproxy/delegation USES base/core base/http base/json base/metrics base/postgres base/runtime lakeproxy/audit
  lakeproxy/auth lakeproxy/ducklake/lake lakeproxy/ducklake/readers lakeproxy/ducklake/registry
  lakeproxy/iceberg/manifest lakeproxy/model lakeproxy/operation lakeproxy/operation/catalog lakeproxy/policy
  lakeproxy/storage lakeproxy/table_cache lakeproxy/to_iceberg/publish TEST_USES base/testing)

# The other way in: an S3 service for clients with keys of ours.
module(lakeproxy/gateway USES base/core base/crypto base/http base/json base/log base/metrics base/runtime
  lakeproxy/auth lakeproxy/delegation lakeproxy/ducklake/lake lakeproxy/model lakeproxy/operation/catalog
  lakeproxy/storage LINKS OpenSSL::Crypto TEST_USES base/testing)

# The page for people, which asks the REST API like any other client.
module(lakeproxy/console USES base/core base/http base/pages)
embed_texts(lakeproxy_console console_pages ${CMAKE_SOURCE_DIR}/lakeproxy/console/*.html)
embed_texts(lakeproxy_console console_styles ${CMAKE_SOURCE_DIR}/lakeproxy/console/*.css)
embed_texts(lakeproxy_console console_scripts ${CMAKE_SOURCE_DIR}/lakeproxy/console/*.js)
embed_texts(lakeproxy_console console_images ${CMAKE_SOURCE_DIR}/lakeproxy/console/*.svg)

# The order of a request, in one list.
module(lakeproxy/http USES base/core base/crypto base/http base/json base/metrics base/pages base/runtime lakeproxy/audit
  lakeproxy/auth lakeproxy/console lakeproxy/delegation lakeproxy/ducklake/lake lakeproxy/ducklake/registry lakeproxy/governance
  lakeproxy/iceberg/scan
  lakeproxy/iceberg/update lakeproxy/iceberg/view lakeproxy/model lakeproxy/operation lakeproxy/operation/catalog
  lakeproxy/policy
  TEST_USES base/testing)

# Wiring.
module(lakeproxy/app USES base/config base/core base/crypto base/duckdb base/files base/http base/json base/log base/metrics
  base/postgres base/runtime lakeproxy/audit lakeproxy/auth lakeproxy/console lakeproxy/delegation lakeproxy/derive
  lakeproxy/ducklake/commit lakeproxy/ducklake/lake lakeproxy/ducklake/maintenance lakeproxy/ducklake/readers
  lakeproxy/ducklake/registry lakeproxy/engine/files lakeproxy/gateway lakeproxy/governance lakeproxy/http
  lakeproxy/maintenance/compaction
  lakeproxy/maintenance/eager lakeproxy/maintenance/removal lakeproxy/measure lakeproxy/operation
  lakeproxy/operation/catalog lakeproxy/planning lakeproxy/policy lakeproxy/settings lakeproxy/storage lakeproxy/table_cache
  lakeproxy/to_iceberg/masked lakeproxy/to_iceberg/publish lakeproxy/views)
program(lakeproxy lakeproxy/app LINKS CLI11::CLI11)
install_program(lakeproxy)


# The tool service: a message walks down from app to audit.
module(toolserver/model USES base/core base/json base/runtime base/crypto LINKS PkgConfig::re2)
module(toolserver/definition USES base/core base/config base/http base/json toolserver/model TEST_USES base/testing)
module(toolserver/settings USES base/core base/config base/json base/log toolserver/definition toolserver/model
  LINKS PkgConfig::re2 TEST_USES base/testing)
module(toolserver/audit USES base/core base/json base/crypto base/runtime toolserver/model TEST_USES base/testing)
# What became of calls, for whoever asks again.
module(toolserver/outcomes USES base/core base/files base/json base/crypto base/runtime toolserver/model toolserver/audit
  TEST_USES base/testing)
# Child processes with walls around them.
module(toolserver/isolate USES base/core base/files base/json base/runtime TEST_USES base/testing)
module(toolserver/connectors USES base/core base/json base/runtime toolserver/definition toolserver/model)
module(toolserver/connectors/echo USES base/core base/json base/runtime toolserver/model toolserver/connectors)
module(toolserver/connectors/sql USES base/core base/json base/runtime base/crypto base/duckdb base/puffin toolserver/model toolserver/isolate toolserver/connectors
  TEST_USES base/testing)
# A governed lake, asked as each caller; the statement runs as one of the SQL connector's.
module(toolserver/connectors/lake USES base/core base/crypto base/duckdb base/files base/http base/jose base/json base/runtime
  toolserver/connectors toolserver/connectors/sql toolserver/isolate toolserver/model TEST_USES base/testing)
module(toolserver/connectors/files USES base/core base/files base/json base/runtime base/crypto toolserver/model toolserver/connectors
  TEST_USES base/testing)
module(toolserver/connectors/command USES base/core base/files base/json base/runtime toolserver/connectors toolserver/definition
  toolserver/model TEST_USES base/testing)
module(toolserver/connectors/http USES base/core base/http base/json base/runtime toolserver/connectors
  toolserver/definition toolserver/model TEST_USES base/testing)
module(toolserver/pipeline USES base/core base/json base/crypto base/runtime base/http base/log base/metrics toolserver/model
  toolserver/connectors toolserver/audit toolserver/outcomes LINKS PkgConfig::re2 TEST_USES base/testing)
embed_texts(toolserver_pipeline metaschema ${CMAKE_SOURCE_DIR}/toolserver/pipeline/metaschema.json)
module(toolserver/mcp USES base/core base/json base/crypto toolserver/model)
# Logins at foreign MCP servers.
module(toolserver/mcp_login USES base/config base/core base/crypto base/files base/http base/jose base/json base/runtime
  toolserver/definition toolserver/model TEST_USES base/testing)
# What foreign tools said of themselves, and what of it was approved.
module(toolserver/pins USES base/core base/files base/json toolserver/model TEST_USES base/testing)
# Which of many tools a few words mean.
module(toolserver/tool_search TEST_USES base/testing)
# Foreign MCP servers, whose tools are connectors of ours.
module(toolserver/mcp_bridge USES base/core base/json base/runtime base/http base/log toolserver/model toolserver/settings
  toolserver/mcp toolserver/mcp_login toolserver/isolate toolserver/connectors toolserver/pins toolserver/pipeline
  LINKS PkgConfig::re2 TEST_USES base/testing)
# Judges of calls behind the pipeline's guard stages: rules of patterns, a policy engine.
module(toolserver/guard USES base/core base/config base/crypto base/json base/http base/runtime toolserver/model
  toolserver/pipeline LINKS PkgConfig::re2 PkgConfig::tomlplusplus PkgConfig::utf8proc TEST_USES base/testing)
embed_texts(toolserver_guard guard_rules ${CMAKE_SOURCE_DIR}/toolserver/guard/rules/*.toml)
module(toolserver/session USES base/core base/json base/crypto base/jose toolserver/model TEST_USES base/testing)
# What the nodes of a federation say to each other, as values.
module(toolserver/federation/proof USES base/core base/json base/crypto base/jose toolserver/model TEST_USES base/testing)
module(toolserver/transport USES base/core base/json base/runtime base/http base/websocket base/log base/metrics base/crypto
  base/jose toolserver/federation/proof toolserver/model toolserver/session toolserver/pipeline toolserver/audit
  toolserver/outcomes TEST_USES base/testing)
# Several calls of tools as one.
module(toolserver/workflow USES base/core base/json base/crypto base/runtime toolserver/audit toolserver/connectors toolserver/model
  toolserver/outcomes toolserver/pipeline toolserver/session toolserver/transport TEST_USES base/testing base/log base/metrics)
module(toolserver/mcp_ingress USES base/core base/json base/runtime base/http base/websocket base/log base/crypto
  toolserver/model toolserver/mcp toolserver/outcomes toolserver/session toolserver/pipeline toolserver/audit toolserver/tool_search
  toolserver/transport toolserver/workflow TEST_USES base/testing base/metrics toolserver/connectors)
# The page /admin.
module(toolserver/admin USES base/core base/http base/json base/pages base/runtime toolserver/audit
  toolserver/mcp_ingress toolserver/model toolserver/pins toolserver/pipeline toolserver/transport)
embed_texts(toolserver_admin admin_pages ${CMAKE_SOURCE_DIR}/toolserver/admin/*.html)
embed_texts(toolserver_admin admin_styles ${CMAKE_SOURCE_DIR}/toolserver/admin/*.css)
embed_texts(toolserver_admin admin_scripts ${CMAKE_SOURCE_DIR}/toolserver/admin/*.js)
embed_texts(toolserver_admin admin_images ${CMAKE_SOURCE_DIR}/toolserver/admin/*.svg)
module(toolserver/client USES base/core base/json base/runtime base/http base/websocket base/crypto base/jose toolserver/model
  toolserver/settings toolserver/session TEST_USES base/testing)
# Where other nodes are, as a name server or a registry says it.
module(toolserver/discovery USES base/core base/crypto base/http base/json base/log base/metrics base/runtime
  toolserver/model toolserver/settings LINKS PkgConfig::cares resolv TEST_USES base/testing)
# The other nodes of a federation, whose tools are connectors of ours.
module(toolserver/federation USES base/core base/json base/runtime base/crypto base/log toolserver/client
  toolserver/connectors toolserver/discovery toolserver/federation/proof toolserver/mcp toolserver/model toolserver/pins
  toolserver/pipeline toolserver/session)
module(toolserver/app USES base/core base/files base/config base/json base/log base/metrics base/runtime base/http base/websocket
  base/crypto base/jose base/duckdb toolserver/admin toolserver/model toolserver/settings toolserver/session toolserver/transport
  toolserver/pipeline toolserver/guard toolserver/isolate toolserver/connectors toolserver/connectors/echo
  toolserver/connectors/sql toolserver/connectors/files toolserver/connectors/command toolserver/connectors/http
  toolserver/connectors/lake
  toolserver/definition toolserver/audit toolserver/mcp toolserver/mcp_bridge toolserver/mcp_ingress
  toolserver/mcp_login toolserver/client toolserver/outcomes toolserver/workflow toolserver/discovery toolserver/federation
  toolserver/federation/proof toolserver/pins TEST_USES base/testing)
# What it tells MCP clients of itself.
target_compile_definitions(toolserver_app PRIVATE SECURETOOL_VERSION="${PROJECT_VERSION}")
program(securetool toolserver/app LINKS CLI11::CLI11 allocator)
install_program(securetool)

# What a program that links the client looks like.
module(examples/call_tool USES base/core base/json base/runtime toolserver/model toolserver/session toolserver/client)
program(call_tool examples/call_tool)

# What a program that serves tools of its own looks like.
module(examples/serve_tool USES base/core toolserver/app toolserver/connectors toolserver/model)
program(serve_tool examples/serve_tool)

# Peers for tests that cross folders.
module(tests/integration/websocket_echo USES base/core base/runtime base/http base/websocket)
program(websocket_echo tests/integration/websocket_echo LINKS CLI11::CLI11)
module(tests/integration/lasting_client USES base/core base/config base/json base/runtime toolserver/model
  toolserver/settings toolserver/session toolserver/client toolserver/app)
program(lasting_client tests/integration/lasting_client)
module(tests/integration/tool_driver USES base/core base/json base/runtime toolserver/model toolserver/session
  toolserver/client)
program(tool_driver tests/integration/tool_driver)
module(tests/integration/mcp_conformance_server USES base/core base/config base/crypto base/json base/log base/runtime
  toolserver/model toolserver/connectors toolserver/mcp_ingress toolserver/settings toolserver/app)
program(mcp_conformance_server tests/integration/mcp_conformance_server)
module(tests/integration/mcp_conformance_client USES base/core base/http base/json base/runtime toolserver/model
  toolserver/mcp toolserver/mcp_bridge toolserver/mcp_login toolserver/settings)
program(mcp_conformance_client tests/integration/mcp_conformance_client)

module(tests/spec/json_schema/checker USES base/core base/json toolserver/pipeline)
program(schema_checker tests/spec/json_schema/checker)

# lakeproxy with a watch on the steps of its commits, for tests/faults.
module(tests/faults/server USES base/config lakeproxy/app lakeproxy/ducklake/commit lakeproxy/settings)
program(faulty_lakeproxy tests/faults/server)

# The loads of `./dev bench`.
module(bench/samples LINKS fmt::fmt)
module(bench/requests USES base/core base/json base/runtime base/http bench/samples)
program(request_load bench/requests LINKS CLI11::CLI11)
module(bench/tools/load USES base/core base/json base/runtime base/websocket toolserver/model toolserver/session
  toolserver/client bench/samples)
program(tool_load bench/tools/load LINKS CLI11::CLI11)

# The same tests on lakes that were migrated to DuckLake 1.1: see lakeproxy/ducklake/lake/lake_fixture_test.h.
foreach(folder ducklake_read ducklake_commit ducklake_maintenance from_iceberg_write views)
  add_test(NAME lakeproxy_${folder}_1_1 COMMAND lakeproxy_${folder}_test)
  set_tests_properties(lakeproxy_${folder}_1_1 PROPERTIES TIMEOUT 300 ENVIRONMENT TEST_LAKE_FORMAT=1.1)
endforeach()

check_arrows()
