#pragma once

// A table that another catalog has made, read from its metadata file for a lake
// that is to show it: what the current snapshot holds, file by file. Data files
// stay where they are; none is opened but for the columns of an equality delete.
// Source: Iceberg REST description, "registerTable".

#include <string>

#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// The metadata file at `location`, packed with gzip or not. Only the catalog's
/// own prefix is read.
/// Errors: kInvalid  elsewhere, missing, no metadata, or over 64 MiB, also once it
///         is unpacked; kUnsupported  an encrypted one.
[[nodiscard]] base::Task<base::Result<model::TableMetadata>> read_metadata_file(
    base::RequestContext context, Catalog* catalog, std::string location);

/// The table of `metadata` under a new name, with its files as one snapshot.
/// Errors: kInvalid  its location or a manifest is outside of the catalog's
///         prefix, missing or broken, or a row id is; kForbidden  a reserved
///         property; those of name_columns() and
///         convert_foreign_deletes().
[[nodiscard]] base::Task<base::Result<ducklake::NewTable>> read_foreign_table(
    base::RequestContext context, Catalog* catalog, model::TableIdentifier identifier,
    model::TableMetadata metadata);

}  // namespace lake::operation
