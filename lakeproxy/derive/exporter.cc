#include "lakeproxy/derive/exporter.h"

#include <fmt/format.h>

#include <utility>

#include "base/duckdb/engine.h"
#include "lakeproxy/derive/inlined/inlined_rows.h"
#include "lakeproxy/derive/plan/content_hash.h"
#include "lakeproxy/engine/deletes/position_deletes.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/files/transfer.h"
#include "lakeproxy/iceberg/puffin/puffin_writer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::RequestContext;
using base::Result;
using base::Task;
using materialize::DeleteGroup;
using materialize::ExportedFile;
using materialize::InlinedGroup;
using storage::ObjectKey;
using storage::ObjectStore;

using Named = std::pair<std::string, ExportedFile>;
using Made = std::vector<Named>;

Task<Result<Made>> make_inlined(Means means, RequestContext context, const InlinedGroup* group) {
  auto write = [engine = means.engine, group, deadline = context.deadline] {
    return write_inlined_rows(*engine, *group, deadline);
  };
  CO_ASSIGN_OR_RETURN(InlinedFile made, co_await means.blocking->run(std::move(write)));
  ExportedFile file{.record_count = made.record_count, .stats = std::move(made.stats)};
  CO_ASSIGN_OR_RETURN(file.file_size_bytes,
                      co_await upload(means, context, group->location, std::move(made.bytes)));
  co_return Made{Named(group->location, std::move(file))};
}

Task<Result<Positions>> read_source(Means means, RequestContext context,
                                    model::LakeDeleteFile source, model::SnapshotId snapshot) {
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_of(*means.store, source.path));
  auto bytes = co_await means.store->get(context, key);
  if (!bytes) co_return as_listed(std::move(bytes).error());
  if (source.format != "parquet" && source.format != "puffin") {
    co_return fail(ErrorKind::kUnsupported, "a delete file is in a format that is not read");
  }
  auto read = [engine = means.engine, text = std::move(*bytes), puffin = source.format == "puffin",
               snapshot, deadline = context.deadline] {
    return puffin ? read_vector_positions(text, snapshot)
                  : read_position_deletes(*engine, text, snapshot, deadline);
  };
  co_return co_await means.blocking->run(std::move(read));
}

Task<Result<Positions>> positions_of(Means means, RequestContext context,
                                     const DeleteGroup* group) {
  Positions positions;
  if (group->source) {
    CO_ASSIGN_OR_RETURN(positions,
                        co_await read_source(means, context, *group->source, group->snapshot));
  }
  co_return unite_positions(std::move(positions), group->positions);
}

Task<Result<Made>> make_deletes(Means means, RequestContext context, const DeleteGroup* group) {
  CO_ASSIGN_OR_RETURN(Positions positions, co_await positions_of(means, context, group));
  ExportedFile file{.record_count = static_cast<std::int64_t>(positions.size())};
  auto write = [engine = means.engine, group, positions = std::move(positions),
                deadline = context.deadline] {
    return write_position_deletes(*engine, group->data_file, positions, deadline);
  };
  CO_ASSIGN_OR_RETURN(std::string bytes, co_await means.blocking->run(std::move(write)));
  CO_ASSIGN_OR_RETURN(file.file_size_bytes,
                      co_await upload(means, context, group->location, std::move(bytes)));
  co_return Made{Named(group->location, std::move(file))};
}

Task<Result<PutVectors>> put_puffin(Means means, RequestContext context, std::string beginning,
                                    std::vector<materialize::DeletionVector> vectors) {
  auto write = [vectors = std::move(vectors)] { return materialize::write_puffin(vectors); };
  CO_ASSIGN_OR_RETURN(auto file, co_await means.blocking->run(std::move(write)));
  PutVectors put{
      .location = fmt::format("{}-{}.puffin", beginning, materialize::content_hash(file.bytes)),
      .blobs = std::move(file.blobs)};
  CO_ASSIGN_OR_RETURN(put.file_size_bytes,
                      co_await upload(means, context, put.location, std::move(file.bytes)));
  co_return put;
}

// The vectors of one Puffin file. A group without positions has none.
Task<Result<Made>> make_vectors(Means means, RequestContext context,
                                std::vector<const DeleteGroup*> groups) {
  Made made;
  std::vector<materialize::DeletionVector> vectors;
  for (const DeleteGroup* group : groups) {
    CO_ASSIGN_OR_RETURN(Positions positions, co_await positions_of(means, context, group));
    made.emplace_back(group->location,
                      ExportedFile{.record_count = static_cast<std::int64_t>(positions.size())});
    if (!positions.empty()) vectors.push_back({group->data_file, std::move(positions)});
  }
  if (vectors.empty()) co_return made;
  CO_ASSIGN_OR_RETURN(PutVectors put, co_await put_puffin(means, context, groups.front()->puffin,
                                                          std::move(vectors)));
  auto blob = put.blobs.begin();
  for (auto& [name, exported] : made) {
    if (exported.record_count == 0) continue;
    exported.file_size_bytes = put.file_size_bytes;
    exported.vector = {put.location, *blob++};
  }
  co_return made;
}

}  // namespace

Exporter::Exporter(base::duckdb::Engine& engine, EnginePool& blocking, ObjectStore& store)
    : engine_(&engine), blocking_(&blocking), store_(&store) {}

Task<Result<materialize::Exported>> Exporter::make(RequestContext context,
                                                   const materialize::ExportPlan* plan) {
  Means means{engine_, blocking_, store_};
  std::vector<Task<Result<Made>>> jobs;
  for (const auto& group : plan->inlined) jobs.push_back(make_inlined(means, context, &group));
  std::map<std::string, std::vector<const DeleteGroup*>> puffins;
  for (const auto& group : plan->deletes) {
    if (group.puffin.empty()) {
      jobs.push_back(make_deletes(means, context, &group));
    } else {
      puffins[group.puffin].push_back(&group);
    }
  }
  for (auto& [beginning, groups] : puffins) {
    jobs.push_back(make_vectors(means, context, std::move(groups)));
  }
  materialize::Exported files;
  CO_RETURN_IF_ERROR(co_await run_few<Made>(std::move(jobs), [&files](Made made) {
    for (Named& file : made) files.insert(std::move(file));
    return base::Status{};
  }));
  co_return files;
}

Task<Result<Positions>> Exporter::lake_positions(RequestContext context, model::LakeDeleteFile file,
                                                 model::SnapshotId snapshot) {
  return read_source({engine_, blocking_, store_}, context, std::move(file), snapshot);
}

Task<Result<PutVectors>> Exporter::put_vectors(RequestContext context, std::string beginning,
                                               std::vector<materialize::DeletionVector> vectors) {
  return put_puffin({engine_, blocking_, store_}, context, std::move(beginning),
                    std::move(vectors));
}

Task<Result<PutDeletes>> Exporter::put_delete_file(RequestContext context, std::string location,
                                                   std::string data_file, Positions positions) {
  PutDeletes put{.delete_count = static_cast<std::int64_t>(positions.size())};
  auto write = [engine = engine_, data_file = std::move(data_file),
                positions = std::move(positions), deadline = context.deadline] {
    return write_position_deletes(*engine, data_file, positions, deadline);
  };
  CO_ASSIGN_OR_RETURN(std::string bytes, co_await blocking_->run(std::move(write)));
  Means means{engine_, blocking_, store_};
  CO_ASSIGN_OR_RETURN(put.file_size_bytes,
                      co_await upload(means, context, std::move(location), std::move(bytes)));
  co_return put;
}

}  // namespace lake::exporter
