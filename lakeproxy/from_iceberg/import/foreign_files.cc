#include "lakeproxy/from_iceberg/import/foreign_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/from_iceberg/files/client_manifests.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using base::fail;

// Stored bytes of manifests that are held at once, but for a larger one alone.
constexpr std::int64_t kPartBytes = 16 << 20;
constexpr std::size_t kMaxFiles = 500'000;

// Gives the files of one manifest what they inherit from it.
class Heir {
 public:
  explicit Heir(const model::ManifestFile& listed)
      : listed_(listed), next_row_id_(listed.first_row_id) {}

  base::Result<SequencedFile> take(const model::ManifestEntry& entry) {
    SequencedFile file{{entry.data_file, listed_.partition_spec_id},
                       entry.sequence_number.value_or(listed_.sequence_number)};
    if (listed_.content != model::ManifestContent::kData) return file;
    const std::int64_t count = entry.data_file.record_count;
    file.added.first_row_id = entry.data_file.first_row_id;
    if (!file.added.first_row_id && next_row_id_) {
      file.added.first_row_id = next_row_id_;
      if (count < 0 || __builtin_add_overflow(*next_row_id_, count, &*next_row_id_)) {
        return fail(ErrorKind::kInvalid, "first_row_id: too large: " + listed_.manifest_path);
      }
    }
    return file;
  }

 private:
  const model::ManifestFile& listed_;
  std::optional<std::int64_t> next_row_id_;
};

// DuckDB's own clean-up compares paths as text with what the store lists, so the
// lake keeps no other spelling.
void spell_canonically(model::DataFile& file) {
  file.file_path = storage::canonical(file.file_path);
  if (file.referenced_data_file) {
    file.referenced_data_file = storage::canonical(*file.referenced_data_file);
  }
}

base::Status take_files(const model::ManifestFile& listed, const materialize::Manifest& manifest,
                        ForeignFiles& files) {
  Heir heir(listed);
  for (const model::ManifestEntry& entry : manifest.entries) {
    if (entry.status == model::EntryStatus::kDeleted) continue;
    if (files.data.size() + files.deletes.size() == kMaxFiles) {
      return fail(ErrorKind::kTooLarge,
                  fmt::format("metadata-location: a table of over {} files", kMaxFiles));
    }
    ASSIGN_OR_RETURN(auto file, heir.take(entry));
    spell_canonically(file.added.file);
    const bool is_data = listed.content == model::ManifestContent::kData;
    (is_data ? files.data : files.deletes).push_back(std::move(file));
  }
  return {};
}

// What the manifests of a whole table hold is more than one commit may bring.
std::vector<std::vector<model::ManifestFile>> parts_of(std::vector<model::ManifestFile> listed) {
  std::vector<std::vector<model::ManifestFile>> parts;
  std::int64_t room = 0;
  for (auto& manifest : listed) {
    if (parts.empty() || manifest.manifest_length > room) {
      parts.emplace_back();
      room = kPartBytes;
    }
    room -= std::min(manifest.manifest_length, room);
    parts.back().push_back(std::move(manifest));
  }
  return parts;
}

}  // namespace

base::Status check_foreign_place(const Catalog& catalog, const std::string& what,
                                 const std::string& location) {
  auto place = storage::Location::parse(location);
  auto prefix = storage::Location::parse(catalog.lake.data_path);
  if (place && prefix && storage::is_under(*place, *prefix)) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("{}: must lie under {}: {}", what, catalog.lake.data_path, location));
}

base::Error as_client_fault(base::Error error, const std::string& what) {
  bool away = error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kTimeout ||
              error.kind() == ErrorKind::kCancelled || error.kind() == ErrorKind::kUnsupported ||
              error.kind() == ErrorKind::kTooLarge || error.kind() == ErrorKind::kRateLimited;
  if (away) return std::move(error).with_context(what);
  return fail(ErrorKind::kInvalid, fmt::format("{}: {}", what, error.message()));
}

base::Task<base::Result<ForeignFiles>> read_foreign_files(base::RequestContext context,
                                                          Catalog* catalog, std::string list) {
  CO_RETURN_IF_ERROR(check_foreign_place(*catalog, "manifest-list", list));
  CO_ASSIGN_OR_RETURN(auto listed,
                      co_await read_client_list(context, catalog, list, as_client_fault));
  for (const model::ManifestFile& manifest : listed) {
    CO_RETURN_IF_ERROR(check_foreign_place(*catalog, "manifest_path", manifest.manifest_path));
  }
  ForeignFiles files;
  for (auto& part : parts_of(std::move(listed))) {
    CO_ASSIGN_OR_RETURN(auto read,
                        co_await read_client_manifests(context, catalog, part, as_client_fault));
    for (std::size_t i = 0; i < part.size(); ++i) {
      CO_RETURN_IF_ERROR(take_files(part[i], read.manifests[i], files));
    }
  }
  co_return files;
}

}  // namespace lake::operation
