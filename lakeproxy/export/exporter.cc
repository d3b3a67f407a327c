#include "lakeproxy/export/exporter.h"

#include <algorithm>
#include <utility>

#include "base/duckdb/engine.h"
#include "base/runtime/gather.h"
#include "lakeproxy/export/inlined_rows.h"
#include "lakeproxy/export/nan_count.h"
#include "lakeproxy/export/position_deletes.h"
#include "lakeproxy/export/scratch.h"

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
using objects::ObjectKey;
using objects::ObjectStore;

using Named = std::pair<std::string, ExportedFile>;

/// Files in the making at once: each may hold an object in memory.
constexpr std::size_t kAtOnce = 4;
/// Of a file that is looked through for NaNs, on disk and in memory.
constexpr std::uint64_t kMostDownload = 4ULL << 30;
constexpr std::uint64_t kPartBytes = 8 << 20;

constexpr const char* kContentType = "application/vnd.apache.parquet";

struct Means {
  base::duckdb::Engine* engine;
  base::BlockingPool* blocking;
  ObjectStore* store;
};

Result<ObjectKey> key_of(const ObjectStore& store, std::string_view location) {
  auto key = objects::key_in(store.bucket(), location);
  if (!key) return fail(ErrorKind::kCorrupt, "a file of the lake lies outside its bucket");
  return key;
}

// A file that the lake lists and the store does not have is the lake's fault,
// not the request's.
base::Error as_listed(base::Error error) {
  if (error.kind() != ErrorKind::kNotFound) return error;
  return fail(ErrorKind::kCorrupt, "a file of the lake does not exist").with_detail(error.detail());
}

// The size of the object that stands there in the end.
Task<Result<std::int64_t>> upload(Means means, RequestContext context, std::string location,
                                  std::string bytes) {
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_of(*means.store, location));
  auto size = static_cast<std::int64_t>(bytes.size());
  base::http::Body body(std::move(bytes));
  CO_ASSIGN_OR_RETURN(auto outcome, co_await means.store->put_if_absent(
                                        context, key, std::move(body), kContentType));
  if (outcome == objects::PutOutcome::kStored) co_return size;
  CO_ASSIGN_OR_RETURN(auto info, co_await means.store->head(context, key));
  co_return static_cast<std::int64_t>(info.size);
}

Task<Result<Named>> make_inlined(Means means, RequestContext context, const InlinedGroup* group) {
  auto write = [engine = means.engine, group, deadline = context.deadline] {
    return write_inlined_rows(*engine, *group, deadline);
  };
  CO_ASSIGN_OR_RETURN(InlinedFile made, co_await means.blocking->run(std::move(write)));
  ExportedFile file{.record_count = made.record_count, .stats = std::move(made.stats)};
  CO_ASSIGN_OR_RETURN(file.file_size_bytes,
                      co_await upload(means, context, group->location, std::move(made.bytes)));
  co_return Named(group->location, std::move(file));
}

Task<Result<Positions>> read_source(Means means, RequestContext context,
                                    const model::LakeDeleteFile* source,
                                    model::SnapshotId snapshot) {
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_of(*means.store, source->path));
  auto bytes = co_await means.store->get(context, key);
  if (!bytes) co_return as_listed(std::move(bytes).error());
  if (source->format != "parquet" && source->format != "puffin") {
    co_return fail(ErrorKind::kUnsupported, "a delete file is in a format that is not read");
  }
  bool puffin = source->format == "puffin";
  if (puffin && source->partial_max && *source->partial_max > snapshot) {
    co_return fail(ErrorKind::kUnsupported, "a deletion vector holds deletes of later snapshots");
  }
  auto read = [engine = means.engine, text = std::move(*bytes), puffin, snapshot,
               deadline = context.deadline] {
    return puffin ? materialize::read_deletion_vectors(text)
                  : read_position_deletes(*engine, text, snapshot, deadline);
  };
  co_return co_await means.blocking->run(std::move(read));
}

Task<Result<Named>> make_deletes(Means means, RequestContext context, const DeleteGroup* group) {
  Positions positions;
  if (group->source) {
    CO_ASSIGN_OR_RETURN(positions,
                        co_await read_source(means, context, &*group->source, group->snapshot));
  }
  CO_ASSIGN_OR_RETURN(positions, unite_positions(std::move(positions), group->positions));
  ExportedFile file{.record_count = static_cast<std::int64_t>(positions.size())};
  auto write = [engine = means.engine, group, positions = std::move(positions),
                deadline = context.deadline] {
    return write_position_deletes(*engine, group->data_file, positions, deadline);
  };
  CO_ASSIGN_OR_RETURN(std::string bytes, co_await means.blocking->run(std::move(write)));
  CO_ASSIGN_OR_RETURN(file.file_size_bytes,
                      co_await upload(means, context, group->location, std::move(bytes)));
  co_return Named(group->location, std::move(file));
}

// Runs the jobs a few at a time; the first error ends it after its few.
Task<Result<materialize::Exported>> run_all(std::vector<Task<Result<Named>>> jobs) {
  materialize::Exported files;
  for (std::size_t begin = 0; begin < jobs.size(); begin += kAtOnce) {
    std::vector<Task<Result<Named>>> few;
    for (std::size_t i = begin; i < std::min(begin + kAtOnce, jobs.size()); ++i) {
      few.push_back(std::move(jobs[i]));
    }
    auto results = co_await base::gather(std::move(few));
    for (auto& result : results) {
      if (!result) co_return std::move(result).error();
      files.insert(std::move(*result));
    }
  }
  co_return files;
}

Task<base::Status> download(Means means, RequestContext context, ObjectKey key, std::string path) {
  auto info = co_await means.store->head(context, key);
  if (!info) co_return as_listed(std::move(info).error());
  if (info->size > kMostDownload) {
    co_return fail(ErrorKind::kTooLarge, "a data file is too large to look through");
  }
  for (std::uint64_t done = 0; done < info->size;) {
    std::uint64_t wanted = std::min(kPartBytes, info->size - done);
    auto part = co_await means.store->get_range(context, key, done, wanted);
    if (!part) co_return as_listed(std::move(part).error());
    if (part->empty()) co_return fail(ErrorKind::kCorrupt, "a data file changed while read");
    done += part->size();
    auto append = [path, bytes = std::move(*part)] { return append_file(path, bytes); };
    CO_RETURN_IF_ERROR(co_await means.blocking->run(std::move(append)));
  }
  co_return base::Status{};
}

}  // namespace

Exporter::Exporter(base::duckdb::Engine& engine, base::BlockingPool& blocking, ObjectStore& store)
    : engine_(&engine), blocking_(&blocking), store_(&store) {}

Task<Result<materialize::Exported>> Exporter::make(RequestContext context,
                                                   const materialize::ExportPlan* plan) {
  Means means{engine_, blocking_, store_};
  std::vector<Task<Result<Named>>> jobs;
  for (const auto& group : plan->inlined) jobs.push_back(make_inlined(means, context, &group));
  for (const auto& group : plan->deletes) jobs.push_back(make_deletes(means, context, &group));
  co_return co_await run_all(std::move(jobs));
}

Task<Result<std::map<model::FieldId, std::int64_t>>> Exporter::count_nans(
    RequestContext context, std::string location, std::vector<model::FieldId> columns) {
  Means means{engine_, blocking_, store_};
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_of(*store_, location));
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine_->scratch_dir()));
  std::string path = scratch.file("data.parquet");
  CO_RETURN_IF_ERROR(co_await download(means, context, std::move(key), path));
  auto count = [engine = engine_, path, columns = std::move(columns), deadline = context.deadline] {
    return count_nans_in(*engine, path, columns, deadline);
  };
  co_return co_await blocking_->run(std::move(count));
}

}  // namespace lake::exporter
