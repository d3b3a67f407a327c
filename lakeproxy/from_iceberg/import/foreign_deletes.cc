#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "base/core/text.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/from_iceberg/deletes/client_deletes.h"
#include "lakeproxy/from_iceberg/deletes/equality_deletes.h"
#include "lakeproxy/from_iceberg/import/foreign_files.h"
#include "lakeproxy/storage/location_rules.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::operation {
namespace {

using exporter::PositionsByFile;

constexpr std::size_t kMostCopies = 64;
constexpr std::uint64_t kMostCopiedBytes = std::uint64_t{256} << 20;  // What get() reads.

// A data file may stand in a table several times, added at different times: these
// are its places among the data files.
using Places = std::map<std::string, std::vector<std::size_t>>;

Places places_of(const std::vector<SequencedFile>& data) {
  Places places;
  for (std::size_t i = 0; i < data.size(); ++i) {
    places[data[i].added.file.file_path].push_back(i);
  }
  return places;
}

std::vector<model::DataFile> position_deletes(const ForeignFiles& files,
                                              std::vector<std::int64_t>& numbers) {
  std::vector<model::DataFile> given;
  for (const SequencedFile& file : files.deletes) {
    if (file.added.file.content == model::FileContent::kEqualityDeletes) continue;
    given.push_back(file.added.file);
    numbers.push_back(file.sequence_number);
  }
  return given;
}

// A place that needs a data file of its own.
struct Apart {
  std::size_t place = 0;
  std::size_t number = 0;  // From 1 on; places of one path and number share it.
};

// What is deleted of each data file, by its place.
class Found {
 public:
  Found(const ForeignFiles& files, const Places& places) : files_(files), places_(places) {}

  // A position delete counts in files of its own commit, too.
  void add(PositionsByFile positions, std::int64_t number) {
    for (auto& [location, rows] : positions) {
      auto places = places_.find(storage::canonical(location));
      if (places == places_.end()) continue;
      for (std::size_t place : places->second) {
        if (files_.data[place].sequence_number <= number) add(place, rows);
      }
    }
  }
  void add(std::size_t place, const exporter::Positions& rows) {
    exporter::Positions& all = by_place_[place];
    exporter::Positions both;
    std::ranges::set_union(all, rows, std::back_inserter(both));
    all = std::move(both);
  }

  // The places at which other rows are deleted than at the first one of their path, with a number
  // for each list of rows.
  [[nodiscard]] std::vector<Apart> apart() {
    std::vector<Apart> found;
    for (const auto& [location, places] : places_) {
      std::vector<const exporter::Positions*> lists;
      for (std::size_t place : places) {
        const exporter::Positions& rows = by_place_[place];
        auto same = std::ranges::find_if(lists, [&](const auto* list) { return *list == rows; });
        if (same == lists.end()) same = lists.insert(same, &rows);
        const auto number = static_cast<std::size_t>(same - lists.begin());
        if (number > 0) found.push_back({place, number});
      }
    }
    return found;
  }

  // By the path that each place has now.
  [[nodiscard]] DeleteChanges changes() && {
    PositionsByFile all;
    for (auto& [place, rows] : by_place_) {
      if (!rows.empty()) all[files_.data[place].added.file.file_path] = std::move(rows);
    }
    DeleteChanges changes;
    changes.by_position.emplace("of the table", std::move(all));
    return changes;
  }

 private:
  const ForeignFiles& files_;
  const Places& places_;
  std::map<std::size_t, exporter::Positions> by_place_;
};

base::Task<base::Status> read_positions(base::RequestContext context, Catalog* catalog,
                                        const ForeignFiles* files, Found* found) {
  CO_ASSIGN_OR_RETURN(auto prefix, storage::Location::parse(catalog->lake.data_path));
  std::vector<std::int64_t> numbers;
  auto given = position_deletes(*files, numbers);
  if (given.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(
      auto read, co_await catalog->exporter->read_positions(context, prefix, std::move(given)));
  for (std::size_t i = 0; i < read.size(); ++i) found->add(std::move(read[i]), numbers[i]);
  co_return base::Status{};
}

// The search of the data files at `places`, no two of which have one path. An
// equality delete counts in older files only.
base::Result<exporter::EqualitySearch> search_of(const Catalog& catalog,
                                                 const model::TableMetadata& metadata,
                                                 const ForeignFiles& files,
                                                 const std::vector<std::size_t>& places) {
  ASSIGN_OR_RETURN(auto prefix, storage::Location::parse(catalog.lake.data_path));
  exporter::EqualitySearch search{std::move(prefix), metadata.current_schema(), {}, {}};
  std::vector<ducklake::AddedFile> deletes;
  std::vector<std::int64_t> of;
  for (const SequencedFile& file : files.deletes) {
    if (file.added.file.content != model::FileContent::kEqualityDeletes) continue;
    search.deletes.push_back(file.added.file);
    deletes.push_back(file.added);
    of.push_back(file.sequence_number);
  }
  const auto names = mapping_of(metadata);
  for (std::size_t place : places) {
    const SequencedFile& file = files.data[place];
    auto candidate = candidate_of(metadata, deletes, file.added);
    std::erase_if(candidate.deletes, [&](std::size_t i) { return of[i] <= file.sequence_number; });
    candidate.names = names;
    if (!candidate.deletes.empty()) search.candidates.push_back(std::move(candidate));
  }
  return search;
}

base::Task<base::Status> search_values(base::RequestContext context, Catalog* catalog,
                                       const model::TableMetadata* metadata,
                                       const ForeignFiles* files, const Places* places,
                                       Found* found) {
  for (std::size_t turn = 0;; ++turn) {
    std::vector<std::size_t> chosen;
    for (const auto& [location, all] : *places) {
      if (turn < all.size()) chosen.push_back(all[turn]);
    }
    if (chosen.empty()) co_return base::Status{};
    CO_ASSIGN_OR_RETURN(auto search, search_of(*catalog, *metadata, *files, chosen));
    if (search.candidates.empty()) continue;
    CO_ASSIGN_OR_RETURN(auto rows,
                        co_await catalog->exporter->find_equal(context, std::move(search)));
    for (const auto& [location, positions] : rows) {
      found->add(places->at(location)[turn], positions);
    }
  }
}

// In the table's folder, with the folders of the path that say a column's value. The same copy of
// the same content has the same name.
std::string copy_location(const std::string& table, std::string_view file, std::string_view etag,
                          std::size_t number) {
  std::string location = table + "/data/";
  std::string_view rest = file;
  for (auto end = rest.find('/'); end != std::string_view::npos; end = rest.find('/')) {
    if (rest.substr(0, end).contains('=')) location.append(rest.substr(0, end + 1));
    rest.remove_prefix(end + 1);
  }
  const std::string name = base::to_hex(storage::sha256(fmt::format("{} {}", file, etag)));
  return fmt::format("{}{}-{}.parquet", location, name.substr(0, 32), number);
}

// Where the copy is. On its way it is held whole, beside what clients' manifests may hold.
base::Task<base::Result<std::string>> copy_file(base::RequestContext context, Catalog* catalog,
                                                std::string table, std::string file,
                                                std::size_t number) {
  storage::ObjectStore& store = *catalog->store;
  CO_ASSIGN_OR_RETURN(auto from, storage::key_in(store.bucket(), file));
  auto info = co_await store.head(context, from);
  if (!info) co_return as_client_fault(std::move(info).error(), file);
  if (info->size > kMostCopiedBytes) {
    co_return base::fail(base::ErrorKind::kUnsupported,
                         "metadata-location: a data file of over 256 MiB stands in the table "
                         "twice, and not with the same deleted rows: " +
                             file);
  }
  std::string location = copy_location(table, file, info->etag, number);
  CO_ASSIGN_OR_RETURN(auto to, storage::key_in(store.bucket(), location));
  auto& budget = catalog->manifests->decoder().budget();
  CO_ASSIGN_OR_RETURN(const auto share, co_await budget.take(context, info->size));
  auto bytes = co_await store.get(context, std::move(from));
  if (!bytes) co_return as_client_fault(std::move(bytes).error(), file);
  base::http::Body body(std::move(*bytes));
  CO_RETURN_IF_ERROR(co_await store.put_if_absent(context, std::move(to), std::move(body), ""));
  co_return location;
}

// Readers apply what deletes rows of a path to all of its places, so places that differ get
// copies of the file. Nothing names these before the table is made.
base::Task<base::Status> copy_apart(base::RequestContext context, Catalog* catalog,
                                    const model::TableMetadata* metadata, std::vector<Apart> apart,
                                    ForeignFiles* files) {
  std::map<std::pair<std::string, std::size_t>, std::string> copies;
  for (const Apart& each : apart) {
    std::string& path = files->data[each.place].added.file.file_path;
    std::string& location = copies[{path, each.number}];
    if (location.empty()) {
      if (copies.size() > kMostCopies) {
        co_return base::fail(base::ErrorKind::kUnsupported,
                             fmt::format("metadata-location: over {} data files stand in the table "
                                         "several times, and not with the same deleted rows",
                                         kMostCopies));
      }
      CO_ASSIGN_OR_RETURN(
          location, co_await copy_file(context, catalog, metadata->location, path, each.number));
    }
    path = location;
  }
  co_return base::Status{};
}

// Every data file as one that the table's first snapshot adds.
ListDiff all_added(const ForeignFiles& files) {
  ListDiff diff;
  for (const SequencedFile& file : files.data) diff.added.push_back(file.added);
  return diff;
}

}  // namespace

base::Task<base::Result<ducklake::RowDeletes>> convert_foreign_deletes(
    base::RequestContext context, Catalog* catalog, const model::TableMetadata* metadata,
    ForeignFiles* files) {
  const Places places = places_of(files->data);
  Found found(*files, places);
  CO_RETURN_IF_ERROR(co_await read_positions(context, catalog, files, &found));
  CO_RETURN_IF_ERROR(co_await search_values(context, catalog, metadata, files, &places, &found));
  CO_RETURN_IF_ERROR(co_await copy_apart(context, catalog, metadata, found.apart(), files));
  const DeleteChanges changes = std::move(found).changes();
  CommitFiles of_table;
  of_table.begin(all_added(*files));
  const DeleteBase base{nullptr, metadata, {}, {}};
  co_return co_await convert_deletes(context, catalog, &base, &changes, &of_table);
}

}  // namespace lake::operation
