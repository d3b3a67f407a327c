#include "lakeproxy/operation/commit/delete_changes.h"

#include <algorithm>
#include <iterator>

#include "lakeproxy/export/exporter.h"
#include "lakeproxy/materialize/snapshot/export_names.h"
#include "lakeproxy/operation/commit/equality_deletes.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using exporter::Positions;
using exporter::PositionsByFile;
using model::DataFile;

bool is_group(const DeleteBase& base, const std::string& location) {
  return base.table != nullptr && materialize::parse_inlined_location(*base.table, location);
}

base::Task<base::Status> read_added(base::RequestContext context, Catalog* catalog,
                                    const DeleteBase* base, const ListDiff* diff,
                                    objects::Location prefix, DeleteChanges* changes) {
  std::vector<DataFile> by_position;
  std::vector<ducklake::AddedFile> by_value;
  for (const auto& added : diff->added_deletes) {
    if (added.file.content == model::FileContent::kEqualityDeletes) {
      by_value.push_back(added);
    } else {
      by_position.push_back(added.file);
    }
  }
  if (!by_position.empty()) {
    CO_ASSIGN_OR_RETURN(auto read,
                        co_await catalog->exporter->read_positions(context, prefix, by_position));
    for (std::size_t i = 0; i < read.size(); ++i) {
      changes->by_position.insert_or_assign(key_of(by_position[i]), std::move(read[i]));
    }
  }
  if (by_value.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto search,
                      co_await equality_search(context, catalog, base, diff, std::move(by_value)));
  CO_ASSIGN_OR_RETURN(changes->by_value,
                      co_await catalog->exporter->find_equal(context, std::move(search)));
  co_return base::Status{};
}

// Whose deletes the client took out.
base::Task<base::Status> read_removed(base::RequestContext context, Catalog* catalog,
                                      const ListDiff* diff, const CommitFiles* files,
                                      objects::Location prefix, DeleteChanges* changes) {
  std::vector<DataFile> unnamed;
  for (const auto& removed : diff->removed_deletes) {
    const DataFile& file = removed.file;
    const bool own = files->has_deletes(file);
    if (own && file.content == model::FileContent::kEqualityDeletes) {
      co_return base::fail(ErrorKind::kUnsupported,
                           "add-snapshot: an equality-delete file goes that the same commit has "
                           "added; commit the two apart: " +
                               file.file_path);
    }
    if (own) {
      changes->taken.insert(key_of(file));
    } else if (file.referenced_data_file) {
      changes->freed.insert(*file.referenced_data_file);
    } else {
      unnamed.push_back(file);
    }
  }
  if (unnamed.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(
      auto read, co_await catalog->exporter->read_positions(context, prefix, std::move(unnamed)));
  for (const auto& found : read) {
    for (const auto& [location, positions] : found) changes->freed.insert(location);
  }
  co_return base::Status{};
}

// Rows of PostgreSQL that had ended and come back. Of a commit's first snapshot all
// that deletes them is known: the delete file that was shown.
base::Task<base::Status> read_returned(base::RequestContext context, Catalog* catalog,
                                       const DeleteBase* base, const ListDiff* diff,
                                       const CommitFiles* files, objects::Location prefix,
                                       DeleteChanges* changes) {
  std::set<std::string> removed(diff->removed.begin(), diff->removed.end());
  std::vector<DataFile> looked_into;
  for (const auto& gone : diff->removed_deletes) {
    const auto& of = gone.file.referenced_data_file;
    const bool may_be = of ? is_group(*base, *of) : changes->taken.contains(key_of(gone.file));
    if (may_be) looked_into.push_back(gone.file);
  }
  if (looked_into.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto read, co_await catalog->exporter->read_positions(
                                     context, prefix, std::move(looked_into)));
  for (const auto& found : read) {
    for (const auto& [location, now] : found) {
      if (!is_group(*base, location) || removed.contains(location)) continue;
      Positions back;
      std::ranges::set_difference(now, changes->added_to(location), std::back_inserter(back));
      if (back.empty()) continue;
      if (files->snapshot() > 0) {
        co_return base::fail(ErrorKind::kUnsupported,
                             "add-snapshot: in the second snapshot of a commit deleted rows come "
                             "back that DuckDB keeps in the catalog: " +
                                 location);
      }
      changes->returned[location] = std::move(back);
    }
  }
  co_return base::Status{};
}

}  // namespace

std::set<std::string> DeleteChanges::touched(const CommitFiles& files) const {
  std::set<std::string> all = freed;
  for (const auto& [key, found] : by_position) {
    for (const auto& [location, positions] : found) all.insert(location);
  }
  for (const auto& [location, positions] : by_value) all.insert(location);
  for (const std::string& key : taken) all.merge(files.deleted_by(key));
  return all;
}

Positions DeleteChanges::added_to(const std::string& location) const {
  Positions all;
  auto take = [&](const PositionsByFile& from) {
    auto found = from.find(location);
    if (found != from.end()) std::ranges::copy(found->second, std::back_inserter(all));
  };
  for (const auto& [key, found] : by_position) take(found);
  take(by_value);
  std::ranges::sort(all);
  auto twice = std::ranges::unique(all);
  all.erase(twice.begin(), twice.end());
  return all;
}

base::Task<base::Result<DeleteChanges>> read_delete_changes(base::RequestContext context,
                                                            Catalog* catalog,
                                                            const DeleteBase* base,
                                                            const ListDiff* diff,
                                                            const CommitFiles* files) {
  CO_ASSIGN_OR_RETURN(auto prefix, objects::Location::parse(catalog->lake.data_path));
  DeleteChanges changes;
  CO_RETURN_IF_ERROR(co_await read_removed(context, catalog, diff, files, prefix, &changes));
  CO_RETURN_IF_ERROR(co_await read_added(context, catalog, base, diff, prefix, &changes));
  CO_RETURN_IF_ERROR(co_await read_returned(context, catalog, base, diff, files, prefix, &changes));
  co_return changes;
}

}  // namespace lake::operation
