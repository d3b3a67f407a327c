#include "lakeproxy/engine/deletes/client_deletes.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/puffin/deletion_vector.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/engine/deletes/client_positions.h"
#include "lakeproxy/engine/deletes/delete_files.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/files/transfer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::RequestContext;
using base::Result;
using base::Task;
using model::DataFile;
using storage::ObjectKey;

/// Far above what kMostPositions take, unless each is far from the next.
constexpr std::int64_t kMostVectorBytes = 64 << 20;

struct ReadDeletes {
  std::optional<std::string> vector_of;  ///< The data file of a deletion vector.
  PositionsByFile positions;
};

base::Status check_vector(const DataFile& file) {
  if (!file.referenced_data_file) {
    return fail(ErrorKind::kInvalid, "a deletion vector needs referenced_data_file");
  }
  if (!file.content_offset || !file.content_size_in_bytes || *file.content_offset < 0 ||
      *file.content_size_in_bytes <= 0) {
    return fail(ErrorKind::kInvalid,
                "a deletion vector needs content_offset and content_size_in_bytes");
  }
  if (*file.content_size_in_bytes > kMostVectorBytes) {
    return fail(ErrorKind::kTooLarge, "a deletion vector is longer than is read");
  }
  if (*file.content_offset > file.file_size_in_bytes - *file.content_size_in_bytes) {
    return fail(ErrorKind::kInvalid,
                "a deletion vector's content_offset and content_size_in_bytes are beyond "
                "file_size_in_bytes");
  }
  return {};
}

Result<Positions> decode_vector(const std::string& blob, const DataFile& file) {
  ASSIGN_OR_RETURN(Positions positions, base::puffin::read_deletion_vector(blob));
  if (static_cast<std::int64_t>(positions.size()) != file.record_count) {
    return fail(ErrorKind::kCorrupt,
                fmt::format("a deletion vector has {} positions, its record_count is {}",
                            positions.size(), file.record_count));
  }
  return positions;
}

// The blob carries its own length, magic and checksum, so the footer of the
// Puffin file need not be brought to know that the place is right.
Task<Result<Positions>> read_vector(Means means, RequestContext context, ObjectKey key,
                                    DataFile file) {
  CO_RETURN_IF_ERROR(check_vector(file));
  auto offset = static_cast<std::uint64_t>(*file.content_offset);
  auto length = static_cast<std::uint64_t>(*file.content_size_in_bytes);
  auto blob = co_await get_exactly(means, context, std::move(key), offset, length);
  if (!blob) co_return std::move(blob).error();
  auto decode = [blob = std::move(*blob), file] { return decode_vector(blob, file); };
  co_return co_await means.blocking->run(std::move(decode));
}

Task<Result<PositionsByFile>> read_parquet(Means means, RequestContext context, ObjectKey key,
                                           DataFile file) {
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(means.engine->scratch_dir()));
  std::string path = scratch.file("deletes.parquet");
  CO_RETURN_IF_ERROR(co_await bring_whole(means, context, std::move(key), file, path));
  auto read = [engine = means.engine, path, referenced = file.referenced_data_file,
               deadline = context.deadline] {
    return read_client_positions(*engine, path, referenced, deadline);
  };
  co_return co_await means.blocking->run(std::move(read));
}

Task<Result<ReadDeletes>> read_one(Means means, RequestContext context, storage::Location prefix,
                                   DataFile file) {
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_below(*means.store, prefix, file.file_path));
  std::string location = file.file_path;
  ReadDeletes read;
  if (auto checked = check_delete_file(file, model::FileContent::kPositionDeletes); !checked) {
    co_return as_given(std::move(checked).error(), location);
  }
  if (file.file_format == model::FileFormat::kPuffin) {
    read.vector_of = file.referenced_data_file;
    auto positions = co_await read_vector(means, context, std::move(key), std::move(file));
    if (!positions) co_return as_given(std::move(positions).error(), location);
    if (!positions->empty()) read.positions.emplace(*read.vector_of, std::move(*positions));
  } else {
    auto found = co_await read_parquet(means, context, std::move(key), std::move(file));
    if (!found) co_return as_given(std::move(found).error(), location);
    read.positions = std::move(*found);
  }
  co_return read;
}

// What was read so far, file by file.
class Readings {
 public:
  base::Status add(ReadDeletes read) {
    if (read.vector_of && !vectors_.insert(*read.vector_of).second) {
      return fail(ErrorKind::kInvalid, "two deletion vectors of one data file: " + *read.vector_of);
    }
    for (const auto& [file, positions] : read.positions) count_ += positions.size();
    if (count_ > kMostPositionsAtOnce) {
      return fail(ErrorKind::kTooLarge, "more positions are deleted than are read at once");
    }
    all_.push_back(std::move(read.positions));
    return {};
  }
  std::vector<PositionsByFile> take() { return std::move(all_); }

 private:
  std::vector<PositionsByFile> all_;
  std::set<std::string> vectors_;
  std::size_t count_ = 0;
};

}  // namespace

Task<Result<std::vector<PositionsByFile>>> Exporter::read_positions(
    RequestContext context, storage::Location prefix, std::vector<DataFile> delete_files) {
  CO_RETURN_IF_ERROR(check_sizes(delete_files));
  std::vector<Task<Result<ReadDeletes>>> jobs;
  for (auto& file : delete_files) {
    jobs.push_back(read_one({engine_, blocking_, store_}, context, prefix, std::move(file)));
  }
  Readings readings;
  CO_RETURN_IF_ERROR(co_await run_few<ReadDeletes>(
      std::move(jobs), [&readings](ReadDeletes read) { return readings.add(std::move(read)); }));
  co_return readings.take();
}

}  // namespace lake::exporter
