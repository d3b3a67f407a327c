#include "lakeproxy/from_iceberg/files/file_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/to_iceberg/definition/readable_copies.h"

namespace lake::operation {
namespace {

using storage::Location;

// "S3://", "s3a://" and what else means the object store to somebody.
bool is_of_store(std::string_view file) {
  const std::size_t end = file.find("://");
  if (end == std::string_view::npos || end == 0 || end > 3) return false;
  return (file[0] == 's' || file[0] == 'S') && file[1] == '3';
}

}  // namespace

base::Result<FilePlaces> FilePlaces::of(const Catalog& catalog, const std::string& location) {
  ASSIGN_OR_RETURN(auto folder, Location::parse(location));
  return FilePlaces(catalog, std::move(folder), storage::canonical(location));
}

bool FilePlaces::has(const std::string& file) const {
  auto place = Location::parse(file);
  if (!place) return false;
  return storage::is_under(*place, folder_) ||
         std::ranges::any_of(catalog_->file_prefixes, [&](const Location& prefix) {
           return storage::is_under(*place, prefix);
         });
}

base::Status FilePlaces::check_data_file(const std::string& file) const {
  auto place = Location::parse(file);
  const bool is_elsewhere =
      place ? place->bucket() != catalog_->store->bucket() : !is_of_store(file);
  if (is_elsewhere || has(file)) return {};
  return refused(file);
}

base::Status FilePlaces::check_delete_file(const std::string& file) const {
  if (has(file)) return {};
  return refused(file);
}

base::Status FilePlaces::check(const std::vector<ducklake::AddedFile>& data,
                               const std::vector<ducklake::AddedFile>& deletes) const {
  for (const auto& added : data) {
    RETURN_IF_ERROR(check_data_file(added.file.file_path));
    if (!ducklake::is_copy_location(storage::canonical(added.file.file_path), folder_text_))
      continue;
    return base::fail(base::ErrorKind::kUnsupported,
                      "file_path: a readable copy stands for a file of the lake's, and cannot be "
                      "added as another: " +
                          added.file.file_path);
  }
  for (const auto& added : deletes) RETURN_IF_ERROR(check_delete_file(added.file.file_path));
  return {};
}

base::Error FilePlaces::refused(const std::string& file) const {
  return base::fail(base::ErrorKind::kInvalid,
                    fmt::format("file_path: must lie in the table's folder or in one of "
                                "LAKEPROXY_FILE_PREFIXES: {}",
                                file));
}

base::Task<base::Status> check_searched(base::RequestContext context, Catalog* catalog,
                                        const model::LakeTable* table, std::string location,
                                        std::vector<std::string> files) {
  CO_ASSIGN_OR_RETURN(auto places, FilePlaces::of(*catalog, location));
  std::erase_if(files, [&](const std::string& file) { return places.has(file); });
  if (table == nullptr || files.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto claimed,
                      co_await catalog->reader->files_of_clients(context, table, std::move(files)));
  for (const std::string& file : claimed) CO_RETURN_IF_ERROR(places.check_delete_file(file));
  co_return base::Status{};
}

}  // namespace lake::operation
