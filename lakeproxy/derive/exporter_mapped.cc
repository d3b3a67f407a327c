#include "base/duckdb/engine.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/files/transfer.h"
#include "lakeproxy/engine/parquet/footer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;

base::Status look(base::duckdb::Engine& engine, const std::string& path, const MappedFile& file,
                  base::Deadline deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, path));
  return check_columns(root, file.columns);
}

base::Task<base::Status> bring_and_look(Means means, base::RequestContext context,
                                        const MappedFile* file) {
  if (file->size_bytes <= 0) co_return base::fail(base::ErrorKind::kCorrupt, "it has no size");
  auto key = key_of(*means.store, file->location);
  if (!key) {
    co_return base::fail(base::ErrorKind::kUnsupported,
                         "it lies outside of the lake's bucket, where its columns cannot be seen");
  }
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(means.engine->scratch_dir()));
  const std::string path = scratch.file("part.parquet");
  CO_RETURN_IF_ERROR(co_await bring_footer(means, context, std::move(*key), path,
                                           static_cast<std::uint64_t>(file->size_bytes)));
  auto job = [engine = means.engine, path, file, deadline = context.deadline] {
    return look(*engine, path, *file, deadline);
  };
  co_return co_await means.blocking->run(std::move(job));
}

using Names = std::optional<model::LakeNameMap>;

base::Result<Names> look_for_names(base::duckdb::Engine& engine, const std::string& path,
                                   const model::NameMapping& mapping,
                                   const model::TableMetadata& table, base::Deadline deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, path));
  if (has_field_ids(root)) return Names();
  Names names = names_of_columns(root, mapping);
  RETURN_IF_ERROR(
      check_columns(root, {&*names, &mapping, &table.schemas, &table.current_schema()}));
  return names;
}

}  // namespace

base::Task<base::Result<Names>> Exporter::names_in_file(base::RequestContext context,
                                                        storage::Location prefix,
                                                        const model::DataFile* file,
                                                        const model::NameMapping* mapping,
                                                        const model::TableMetadata* table) {
  const Means means{engine_, blocking_, store_};
  CO_ASSIGN_OR_RETURN(auto key, key_below(*store_, prefix, file->file_path));
  if (file->file_size_in_bytes <= 0) co_return base::fail(ErrorKind::kInvalid, "it has no size");
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine_->scratch_dir()));
  const std::string path = scratch.file("part.parquet");
  auto there = co_await bring_footer(means, context, std::move(key), path,
                                     static_cast<std::uint64_t>(file->file_size_in_bytes));
  if (!there) co_return as_given(std::move(there).error(), "data file");
  auto job = [engine = engine_, path, mapping, table, deadline = context.deadline] {
    return look_for_names(*engine, path, *mapping, *table, deadline);
  };
  auto names = co_await blocking_->run(std::move(job));
  if (!names) co_return as_given(std::move(names).error(), "data file");
  co_return std::move(*names);
}

base::Task<base::Status> Exporter::check_mapped_file(base::RequestContext context,
                                                     const MappedFile* file) {
  auto done = co_await bring_and_look({engine_, blocking_, store_}, context, file);
  if (!done) co_return as_listed(std::move(done).error()).with_context(file->location);
  co_return base::Status{};
}

}  // namespace lake::exporter
