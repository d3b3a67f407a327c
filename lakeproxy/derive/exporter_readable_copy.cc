#include "base/duckdb/engine.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/derive/readable/readable_copy.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/files/transfer.h"

namespace lake::exporter {

using base::ErrorKind;

base::Task<base::Result<std::int64_t>> Exporter::copy_file(base::RequestContext context,
                                                           const model::ReadableCopy* copy,
                                                           std::int64_t record_count) {
  const Means means{engine_, blocking_, store_};
  CO_ASSIGN_OR_RETURN(auto key, key_of(*store_, copy->source));
  if (copy->source_bytes <= 0) co_return base::fail(ErrorKind::kCorrupt, "it has no size");
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine_->scratch_dir()));
  const std::string from = scratch.file("from.parquet");
  const std::string to = scratch.file("to.parquet");
  auto brought = co_await bring(means, context, std::move(key), from, 0,
                                static_cast<std::uint64_t>(copy->source_bytes));
  if (!brought) co_return as_listed(std::move(brought).error());
  auto write = [engine = engine_, &from, &to, copy, deadline = context.deadline] {
    return write_readable_copy(*engine, from, to, {&copy->columns, copy->added.get()}, deadline);
  };
  CO_ASSIGN_OR_RETURN(const std::int64_t rows, co_await blocking_->run(std::move(write)));
  if (rows != record_count) {
    co_return base::fail(ErrorKind::kCorrupt, "it has another number of rows than the lake says");
  }
  auto read = [&to] { return read_file(to); };
  CO_ASSIGN_OR_RETURN(std::string bytes, co_await blocking_->run(std::move(read)));
  co_return co_await upload(means, context, copy->location, std::move(bytes));
}

}  // namespace lake::exporter
