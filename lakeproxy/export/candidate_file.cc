#include "lakeproxy/export/candidate_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lakeproxy/export/column_ranges.h"
#include "lakeproxy/export/scratch.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::RequestContext;
using base::Result;
using base::Task;
using objects::ObjectKey;

struct Inspected {
  std::vector<FileColumn> columns;
  std::vector<ByteRange> ranges;
};

Result<Inspected> inspect(base::duckdb::Engine& engine, const std::string& path,
                          const Candidate& candidate, const std::vector<DeleteColumn>& columns,
                          std::uint64_t there, base::Deadline deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, path));
  if (!has_field_ids(root)) {
    if (!candidate.names) {
      return fail(ErrorKind::kUnsupported, "it has no field ids, and there is no name mapping");
    }
    apply_mapping(root, *candidate.names);
  }
  Inspected out;
  for (const DeleteColumn& column : columns) {
    ASSIGN_OR_RETURN(FileColumn in_file, column_in_data(root, column, candidate.constants));
    out.columns.push_back(std::move(in_file));
  }
  ASSIGN_OR_RETURN(out.ranges, column_ranges(connection, path, out.columns, there));
  return out;
}

// Brings the end of the file with its whole footer; where that begins.
Task<Result<std::uint64_t>> bring_footer(Means means, RequestContext context, ObjectKey key,
                                         std::string path, std::uint64_t size) {
  std::uint64_t begin = size - std::min(size, kTailBytes);
  CO_ASSIGN_OR_RETURN(std::string tail,
                      co_await get_exactly(means, context, key, begin, size - begin));
  CO_ASSIGN_OR_RETURN(std::uint64_t footer, footer_begin(tail, size));
  auto write = [path, begin, bytes = std::move(tail)] { return write_file_at(path, begin, bytes); };
  CO_RETURN_IF_ERROR(co_await means.blocking->run(std::move(write)));
  CO_RETURN_IF_ERROR(co_await bring(means, context, std::move(key), std::move(path), footer,
                                    std::max(footer, begin)));
  co_return std::min(footer, begin);
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

Task<Result<SearchedFile>> bring_columns(Means means, RequestContext context, ObjectKey key,
                                         const Candidate* candidate,
                                         const std::vector<DeleteColumn>* columns,
                                         std::string path) {
  CO_RETURN_IF_ERROR(check_data_file(candidate->file));
  auto size = static_cast<std::uint64_t>(candidate->file.file_size_in_bytes);
  CO_ASSIGN_OR_RETURN(std::uint64_t there, co_await bring_footer(means, context, key, path, size));
  auto look = [engine = means.engine, path, candidate, columns, there,
               deadline = context.deadline] {
    return inspect(*engine, path, *candidate, *columns, there, deadline);
  };
  CO_ASSIGN_OR_RETURN(Inspected inspected, co_await means.blocking->run(std::move(look)));
  for (const ByteRange& range : inspected.ranges) {
    CO_RETURN_IF_ERROR(co_await bring(means, context, key, path, range.begin, range.end));
  }
  co_return SearchedFile{{path, candidate->file.file_path}, std::move(inspected.columns)};
}

}  // namespace

Task<Result<SearchedFile>> bring_candidate(Means means, RequestContext context,
                                           objects::Location prefix, const Candidate* candidate,
                                           const std::vector<DeleteColumn>* columns,
                                           std::string path) {
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_below(*means.store, prefix, candidate->file.file_path));
  auto file =
      co_await bring_columns(means, context, std::move(key), candidate, columns, std::move(path));
  if (!file) co_return as_listed(std::move(file).error()).with_context(candidate->file.file_path);
  co_return std::move(*file);
}

}  // namespace lake::exporter
