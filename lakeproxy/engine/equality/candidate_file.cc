#include "lakeproxy/engine/equality/candidate_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/runtime/gather.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/parquet/column_ranges.h"
#include "lakeproxy/engine/parquet/footer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::RequestContext;
using base::Result;
using base::Task;
using storage::ObjectKey;

// A candidate whose footer is in scratch.
struct Footed {
  ObjectKey key;
  const Candidate* candidate;
  std::string path;
  std::uint64_t there = 0;  ///< From here on the file is there.
};

// What of a file is to be brought, and where its columns are.
struct Inspected {
  std::vector<FileColumn> columns;
  std::vector<ByteRange> ranges;
};

base::Error of_file(base::Error error, const Candidate& candidate) {
  return as_listed(std::move(error)).with_context(candidate.file.file_path);
}

Result<std::vector<FileColumn>> columns_in(ParquetNode root, const Candidate& candidate,
                                           const std::vector<DeleteColumn>& columns) {
  if (!has_field_ids(root)) {
    if (!candidate.names) {
      return fail(ErrorKind::kUnsupported, "it has no field ids, and there is no name mapping");
    }
    apply_mapping(root, *candidate.names);
  }
  std::vector<FileColumn> found;
  for (const DeleteColumn& column : columns) {
    ASSIGN_OR_RETURN(FileColumn in_file, column_in_data(root, column, candidate.constants));
    found.push_back(std::move(in_file));
  }
  return found;
}

Result<std::vector<Inspected>> inspect(base::duckdb::Engine& engine,
                                       const std::vector<Footed>& files,
                                       const std::vector<DeleteColumn>& columns,
                                       base::Deadline deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  std::vector<std::string> paths;
  for (const Footed& file : files) paths.push_back(file.path);
  ASSIGN_OR_RETURN(auto roots, read_parquet_trees(connection, paths));
  std::vector<WantedColumns> wanted;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ASSIGN_OR_RETURN(auto found, columns_in(std::move(roots[i]), *files[i].candidate, columns));
    wanted.push_back({std::move(paths[i]), std::move(found), files[i].there});
  }
  ASSIGN_OR_RETURN(auto ranges, column_ranges(connection, wanted));
  std::vector<Inspected> all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    all.push_back({std::move(wanted[i].columns), std::move(ranges[i])});
  }
  return all;
}

// An error does not say of which file it is, and the limits of a statement may
// be too small for all of them: then each is looked into by itself.
Result<std::vector<Inspected>> inspect_all(base::duckdb::Engine& engine,
                                           const std::vector<Footed>& files,
                                           const std::vector<DeleteColumn>& columns,
                                           base::Deadline deadline) {
  auto all = inspect(engine, files, columns, deadline);
  if (all || all.error().kind() == ErrorKind::kTimeout) return all;
  std::vector<Inspected> each;
  for (const Footed& file : files) {
    auto alone = inspect(engine, {file}, columns, deadline);
    if (!alone) return of_file(std::move(alone).error(), *file.candidate);
    each.push_back(std::move(alone->front()));
  }
  return each;
}

base::Status check_data_file(const model::DataFile& file) {
  if (file.key_metadata) return fail(ErrorKind::kUnsupported, "it is encrypted");
  if (file.file_format != model::FileFormat::kParquet) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("{} is not searched", to_string(file.file_format)));
  }
  if (file.file_size_in_bytes <= 0) return fail(ErrorKind::kCorrupt, "it has no size");
  return {};
}

// The files, of which nothing is there yet.
Result<std::vector<Footed>> find_keys(const storage::ObjectStore& store,
                                      const storage::Location& prefix,
                                      std::vector<BroughtTo> candidates) {
  std::vector<Footed> files;
  for (BroughtTo& to : candidates) {
    ASSIGN_OR_RETURN(ObjectKey key, key_below(store, prefix, to.candidate->file.file_path));
    auto checked = check_data_file(to.candidate->file);
    if (!checked) return of_file(std::move(checked).error(), *to.candidate);
    files.push_back({std::move(key), to.candidate, std::move(to.path)});
  }
  return files;
}

Task<Result<std::uint64_t>> bring_end(Means means, RequestContext context, const Footed* file) {
  auto size = static_cast<std::uint64_t>(file->candidate->file.file_size_in_bytes);
  auto there = co_await bring_footer(means, context, file->key, file->path, size);
  if (!there) co_return of_file(std::move(there).error(), *file->candidate);
  co_return there;
}

Task<Result<SearchedFile>> bring_ranges(Means means, RequestContext context, Footed file,
                                        Inspected inspected) {
  for (const ByteRange& range : inspected.ranges) {
    auto brought = co_await bring(means, context, file.key, file.path, range.begin, range.end);
    if (!brought) co_return of_file(std::move(brought).error(), *file.candidate);
  }
  co_return SearchedFile{{std::move(file.path), file.candidate->file.file_path},
                         std::move(inspected.columns)};
}

}  // namespace

Task<Result<std::vector<SearchedFile>>> bring_candidates(Means means, RequestContext context,
                                                         storage::Location prefix,
                                                         std::vector<BroughtTo> candidates,
                                                         const std::vector<DeleteColumn>* columns) {
  CO_ASSIGN_OR_RETURN(auto files, find_keys(*means.store, prefix, std::move(candidates)));
  const base::AtOnce all{files.size()};
  auto end = [&](std::size_t i) { return bring_end(means, context, &files[i]); };
  CO_ASSIGN_OR_RETURN(auto begins, co_await base::gather_few(all, files.size(), end));
  for (std::size_t i = 0; i < files.size(); ++i) files[i].there = begins[i];
  auto look = [engine = means.engine, &files, columns, deadline = context.deadline] {
    return inspect_all(*engine, files, *columns, deadline);
  };
  CO_ASSIGN_OR_RETURN(auto inspected, co_await means.blocking->run(std::move(look)));
  auto rest = [&](std::size_t i) {
    return bring_ranges(means, context, std::move(files[i]), std::move(inspected[i]));
  };
  co_return co_await base::gather_few(all, files.size(), rest);
}

}  // namespace lake::exporter
