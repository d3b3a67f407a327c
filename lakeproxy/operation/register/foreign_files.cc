#include "lakeproxy/operation/register/foreign_files.h"

#include <fmt/format.h>

#include "base/runtime/gather.h"
#include "lakeproxy/materialize/manifest/manifest_reader.h"
#include "lakeproxy/objects/location_rules.h"

namespace lake::operation {
namespace {

using base::ErrorKind;
using base::fail;

constexpr base::AtOnce kReadsAtOnce{16};
constexpr std::size_t kMaxFiles = 500'000;

base::Task<base::Result<materialize::Manifest>> read_manifest(base::RequestContext context,
                                                              Catalog* catalog,
                                                              std::string location) {
  CO_RETURN_IF_ERROR(check_foreign_place(*catalog, "manifest_path", location));
  auto bytes = co_await catalog->manifests->bytes(context, location);
  if (!bytes) co_return as_client_fault(std::move(bytes).error(), location);
  auto manifest = materialize::read_manifest(*bytes, {}, &catalog->manifests->schemas());
  if (!manifest) co_return as_client_fault(std::move(manifest).error(), location);
  co_return std::move(*manifest);
}

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
    const bool is_data = listed.content == model::ManifestContent::kData;
    (is_data ? files.data : files.deletes).push_back(std::move(file));
  }
  return {};
}

}  // namespace

base::Status check_foreign_place(const Catalog& catalog, const std::string& what,
                                 const std::string& location) {
  auto place = objects::Location::parse(location);
  auto prefix = objects::Location::parse(catalog.lake.data_path);
  if (place && prefix && objects::is_under(*place, *prefix)) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("{}: must lie under {}: {}", what, catalog.lake.data_path, location));
}

base::Error as_client_fault(base::Error error, const std::string& what) {
  bool away = error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kTimeout ||
              error.kind() == ErrorKind::kCancelled || error.kind() == ErrorKind::kUnsupported;
  if (away) return std::move(error).with_context(what);
  return fail(ErrorKind::kInvalid, fmt::format("{}: {}", what, error.message()));
}

base::Task<base::Result<ForeignFiles>> read_foreign_files(base::RequestContext context,
                                                          Catalog* catalog, std::string list) {
  CO_RETURN_IF_ERROR(check_foreign_place(*catalog, "manifest-list", list));
  auto bytes = co_await catalog->manifests->bytes(context, list);
  if (!bytes) co_return as_client_fault(std::move(bytes).error(), list);
  auto manifests = materialize::read_manifest_list(*bytes, {}, &catalog->manifests->schemas());
  if (!manifests) co_return as_client_fault(std::move(manifests).error(), list);
  ForeignFiles files;
  auto read = [&](std::size_t i) {
    return read_manifest(context, catalog, (*manifests)[i].manifest_path);
  };
  auto take = [&](std::size_t i, const materialize::Manifest& manifest) {
    return take_files((*manifests)[i], manifest, files);
  };
  CO_RETURN_IF_ERROR(co_await base::gather_few(kReadsAtOnce, manifests->size(), read, take));
  co_return files;
}

}  // namespace lake::operation
