#include "lakeproxy/operation/register/foreign_deletes.h"

#include <map>

#include "lakeproxy/export/exporter.h"
#include "lakeproxy/operation/commit/client_deletes.h"
#include "lakeproxy/operation/commit/equality_deletes.h"

namespace lake::operation {
namespace {

using exporter::PositionsByFile;

// When the data files were added.
using Numbers = std::map<std::string, std::int64_t>;

base::Result<Numbers> numbers_of(const std::vector<SequencedFile>& data) {
  Numbers numbers;
  for (const SequencedFile& file : data) {
    const std::string& path = file.added.file.file_path;
    if (!numbers.emplace(path, file.sequence_number).second) {
      return base::fail(base::ErrorKind::kUnsupported,
                        "metadata-location: the table has delete files, and one data file stands "
                        "in it twice: " +
                            path);
    }
  }
  return numbers;
}

// A position delete counts in files of its own commit, too, an equality delete
// in older ones only. This finds the former.
base::Task<base::Status> read_positions(base::RequestContext context, Catalog* catalog,
                                        const ForeignFiles* files, const Numbers* numbers,
                                        DeleteChanges* changes) {
  CO_ASSIGN_OR_RETURN(auto prefix, objects::Location::parse(catalog->lake.data_path));
  std::vector<model::DataFile> given;
  std::vector<std::int64_t> of;
  for (const SequencedFile& file : files->deletes) {
    if (file.added.file.content == model::FileContent::kEqualityDeletes) continue;
    given.push_back(file.added.file);
    of.push_back(file.sequence_number);
  }
  if (given.empty()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(auto read,
                      co_await catalog->exporter->read_positions(context, prefix, given));
  for (std::size_t i = 0; i < read.size(); ++i) {
    std::erase_if(read[i], [&](const auto& found) {
      auto number = numbers->find(found.first);
      return number == numbers->end() || number->second > of[i];
    });
    changes->by_position.insert_or_assign(key_of(given[i]), std::move(read[i]));
  }
  co_return base::Status{};
}

base::Result<exporter::EqualitySearch> search_of(const Catalog& catalog,
                                                 const model::TableMetadata& metadata,
                                                 const ForeignFiles& files) {
  ASSIGN_OR_RETURN(auto prefix, objects::Location::parse(catalog.lake.data_path));
  exporter::EqualitySearch search{std::move(prefix), metadata.current_schema(), {}, {}};
  std::vector<ducklake::AddedFile> deletes;
  std::vector<std::int64_t> of;
  for (const SequencedFile& file : files.deletes) {
    if (file.added.file.content != model::FileContent::kEqualityDeletes) continue;
    search.deletes.push_back(file.added.file);
    deletes.push_back(file.added);
    of.push_back(file.sequence_number);
  }
  for (const SequencedFile& file : files.data) {
    auto candidate = candidate_of(metadata, deletes, file.added);
    std::erase_if(candidate.deletes, [&](std::size_t i) { return of[i] <= file.sequence_number; });
    if (!candidate.deletes.empty()) search.candidates.push_back(std::move(candidate));
  }
  return search;
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
    const ForeignFiles* files) {
  CO_ASSIGN_OR_RETURN(auto numbers, numbers_of(files->data));
  DeleteChanges changes;
  CO_RETURN_IF_ERROR(co_await read_positions(context, catalog, files, &numbers, &changes));
  CO_ASSIGN_OR_RETURN(auto search, search_of(*catalog, *metadata, *files));
  if (!search.candidates.empty()) {
    CO_ASSIGN_OR_RETURN(auto found,
                        co_await catalog->exporter->find_equal(context, std::move(search)));
    changes.by_position.insert_or_assign("by value", std::move(found));
  }
  CommitFiles of_table;
  of_table.begin(all_added(*files));
  const DeleteBase base{nullptr, metadata, {}, {}};
  co_return co_await convert_deletes(context, catalog, &base, &changes, &of_table);
}

}  // namespace lake::operation
