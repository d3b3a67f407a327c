#include "lakeproxy/from_iceberg/deletes/delete_changes.h"

#include <algorithm>
#include <iterator>

#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/from_iceberg/deletes/equality_deletes.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using exporter::Positions;
using exporter::PositionsByFile;
using model::DataFile;

bool is_group(const DeleteBase& base, const std::string& location) {
  return base.table != nullptr && materialize::parse_inlined_location(*base.table, location);
}

// Each delete file by itself where it may go again; otherwise all at once, so that
// no data file is searched twice.
base::Task<base::Status> search_values(base::RequestContext context, Catalog* catalog,
                                       const DeleteBase* base, const ListDiff* diff,
                                       std::vector<ducklake::AddedFile> deletes,
                                       DeleteChanges* changes) {
  std::vector<std::pair<std::string, std::vector<ducklake::AddedFile>>> parts;
  if (base->is_followed) {
    for (const auto& file : deletes) {
      parts.push_back({key_of(file.file), {file}});
    }
  } else if (!deletes.empty()) {
    parts.push_back({"by value", std::move(deletes)});
  }
  for (auto& [key, files] : parts) {
    CO_ASSIGN_OR_RETURN(auto search,
                        co_await equality_search(context, catalog, base, diff, std::move(files)));
    CO_ASSIGN_OR_RETURN(auto found,
                        co_await catalog->exporter->find_equal(context, std::move(search)));
    changes->by_value.insert_or_assign(std::move(key), std::move(found));
  }
  co_return base::Status{};
}

base::Task<base::Status> read_added(base::RequestContext context, Catalog* catalog,
                                    const DeleteBase* base, const ListDiff* diff,
                                    storage::Location prefix, DeleteChanges* changes) {
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
  co_return co_await search_values(context, catalog, base, diff, std::move(by_value), changes);
}

// Whose deletes the client took out.
base::Task<base::Status> read_removed(base::RequestContext context, Catalog* catalog,
                                      const ListDiff* diff, const CommitFiles* files,
                                      storage::Location prefix, DeleteChanges* changes) {
  std::vector<DataFile> unnamed;
  for (const auto& removed : diff->removed_deletes) {
    const DataFile& file = removed.file;
    const bool own = files->has_deletes(file);
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

void add_all(const Positions& more, Positions& all) {
  Positions both;
  std::ranges::set_union(all, more, std::back_inserter(both));
  all = std::move(both);
}

// Of each group the delete file that is shown for it, and is not of this commit.
base::Task<base::Result<std::map<std::string, DataFile>>> shown_deletes(
    base::RequestContext context, Catalog* catalog, const DeleteBase* base,
    const CommitFiles* files) {
  std::map<std::string, DataFile> shown;
  for (const model::ManifestFile& manifest : *base->list) {
    if (manifest.content != model::ManifestContent::kDeletes) continue;
    CO_ASSIGN_OR_RETURN(auto entries,
                        co_await catalog->manifests->entries(context, manifest.manifest_path));
    for (const model::ManifestEntry& entry : *entries) {
      const auto& of = entry.data_file.referenced_data_file;
      const bool live = entry.status != model::EntryStatus::kDeleted;
      if (live && of && is_group(*base, *of) && !files->has_deletes(entry.data_file)) {
        shown.insert_or_assign(*of, entry.data_file);
      }
    }
  }
  co_return shown;
}

// What counts no more of the groups that the snapshot frees, whoever else deletes it.
struct Freed {
  std::map<std::string, Positions> positions;  ///< By the group's location.
  std::set<std::string> of_lake;               ///< Groups whose shown delete file goes.
};

base::Task<base::Result<Freed>> freed_groups(base::RequestContext context, Catalog* catalog,
                                             const DeleteBase* base, const ListDiff* diff,
                                             const CommitFiles* files, const DeleteChanges* changes,
                                             storage::Location prefix) {
  Freed freed;
  std::vector<DataFile> looked_into;
  for (const auto& gone : diff->removed_deletes) {
    const auto& of = gone.file.referenced_data_file;
    if (!of || !is_group(*base, *of) || changes->taken.contains(key_of(gone.file))) continue;
    looked_into.push_back(gone.file);
    freed.of_lake.insert(*of);
  }
  if (!looked_into.empty()) {
    CO_ASSIGN_OR_RETURN(auto read, co_await catalog->exporter->read_positions(
                                       context, prefix, std::move(looked_into)));
    for (const auto& found : read) {
      for (const auto& [location, now] : found) add_all(now, freed.positions[location]);
    }
  }
  for (const std::string& key : changes->taken) {
    for (const std::string& location : files->deleted_by(key)) {
      const auto* group = files->group(location);
      if (group != nullptr) add_all(group->at(key), freed.positions[location]);
    }
  }
  co_return freed;
}

// What stays deleted of a group by others than the ones that go.
Positions kept_of_group(const std::string& location, const CommitFiles& files,
                        const DeleteChanges& changes) {
  Positions kept = changes.added_to(location);
  const auto* group = files.group(location);
  if (group == nullptr) return kept;
  for (const auto& [key, positions] : *group) {
    if (!changes.taken.contains(key)) add_all(positions, kept);
  }
  return kept;
}

// Rows of PostgreSQL that had ended and come back.
base::Task<base::Status> read_returned(base::RequestContext context, Catalog* catalog,
                                       const DeleteBase* base, const ListDiff* diff,
                                       const CommitFiles* files, storage::Location prefix,
                                       DeleteChanges* changes) {
  CO_ASSIGN_OR_RETURN(auto freed,
                      co_await freed_groups(context, catalog, base, diff, files, changes, prefix));
  if (freed.positions.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto shown, co_await shown_deletes(context, catalog, base, files));
  const std::set<std::string> removed(diff->removed.begin(), diff->removed.end());
  for (const auto& [location, gone] : freed.positions) {
    if (!is_group(*base, location) || removed.contains(location)) continue;
    Positions kept = kept_of_group(location, *files, *changes);
    auto by_lake = shown.find(location);
    if (by_lake != shown.end() && !freed.of_lake.contains(location)) {
      CO_ASSIGN_OR_RETURN(auto read, co_await catalog->exporter->read_positions(context, prefix,
                                                                                {by_lake->second}));
      for (const auto& found : read) {
        auto of = found.find(location);
        if (of != found.end()) add_all(of->second, kept);
      }
    }
    Positions back;
    std::ranges::set_difference(gone, kept, std::back_inserter(back));
    if (!back.empty()) changes->returned[location] = std::move(back);
  }
  co_return base::Status{};
}

}  // namespace

std::set<std::string> DeleteChanges::touched(const CommitFiles& files) const {
  std::set<std::string> all = freed;
  for (const auto& [key, found] : by_position) {
    for (const auto& [location, positions] : found) all.insert(location);
  }
  for (const auto& [key, found] : by_value) {
    for (const auto& [location, positions] : found) all.insert(location);
  }
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
  for (const auto& [key, found] : by_value) take(found);
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
  CO_ASSIGN_OR_RETURN(auto prefix, storage::Location::parse(catalog->lake.data_path));
  DeleteChanges changes;
  CO_RETURN_IF_ERROR(co_await read_removed(context, catalog, diff, files, prefix, &changes));
  CO_RETURN_IF_ERROR(co_await read_added(context, catalog, base, diff, prefix, &changes));
  CO_RETURN_IF_ERROR(co_await read_returned(context, catalog, base, diff, files, prefix, &changes));
  co_return changes;
}

}  // namespace lake::operation
