#include "lakeproxy/engine/deletes/delete_files.h"

#include <fmt/format.h>

#include <utility>

namespace lake::exporter {

using base::ErrorKind;
using base::fail;
using model::DataFile;
using model::FileContent;
using model::FileFormat;

base::Status check_sizes(const std::vector<DataFile>& files) {
  if (files.size() > kMostDeleteFiles) {
    return fail(ErrorKind::kTooLarge, "more delete files than are read at once");
  }
  std::int64_t left = kMostDeleteBytes;
  for (const auto& file : files) {
    if (file.file_format == FileFormat::kPuffin) continue;  // Of which only the vector is read.
    if (file.file_size_in_bytes < 0) {
      return fail(ErrorKind::kInvalid, file.file_path + ": file_size_in_bytes is negative");
    }
    if (file.file_size_in_bytes > left) {
      return fail(ErrorKind::kTooLarge, "the delete files are larger than is read at once");
    }
    left -= file.file_size_in_bytes;
  }
  return {};
}

base::Status check_delete_file(const DataFile& file, FileContent content) {
  if (file.content != content) return fail(ErrorKind::kInvalid, "its content is of another kind");
  if (file.key_metadata) return fail(ErrorKind::kUnsupported, "it is encrypted");
  bool vector = content == FileContent::kPositionDeletes && file.file_format == FileFormat::kPuffin;
  if (file.file_format != FileFormat::kParquet && !vector) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("deletes are not read as {}", to_string(file.file_format)));
  }
  return {};
}

base::Task<base::Status> bring_whole(Means means, base::RequestContext context,
                                     storage::ObjectKey key, DataFile file, std::string path) {
  CO_ASSIGN_OR_RETURN(auto info, co_await means.store->head(context, key));
  if (std::cmp_not_equal(info.size, file.file_size_in_bytes)) {
    co_return fail(ErrorKind::kCorrupt, fmt::format("it has {} bytes, its file_size_in_bytes is {}",
                                                    info.size, file.file_size_in_bytes));
  }
  co_return co_await bring(means, context, std::move(key), std::move(path), 0, info.size);
}

}  // namespace lake::exporter
