#pragma once

// A table as it is served: the lake's state, and the documents made from it,
// written once and sent as often as they are asked for.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/gzip/pack.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/metadata/table_metadata_json.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::publish {

class PendingRecord;

/// The beginning of an answer as gzip.
using PackedText = std::shared_ptr<const base::gzip::OpenMember>;

/// That of a loaded table, once somebody has made it. Safe from any thread.
class PackedBody {
 public:
  [[nodiscard]] PackedText get() const {
    std::lock_guard lock(mutex_);
    return bytes_;
  }
  void set(PackedText bytes) {
    std::lock_guard lock(mutex_);
    bytes_ = std::move(bytes);
  }

 private:
  mutable std::mutex mutex_;
  PackedText bytes_;
};

/// How the caller of an answer reaches the object store: what follows a table's document. It is
/// made for who asks and never kept with a table. Shared by answers.
struct ClientConfig {
  /// `config`: the "config" member of LoadTableResult, as JSON. `storage_credentials`: that of the
  /// name, where the caller gets keys.
  explicit ClientConfig(std::string_view config, std::string_view storage_credentials = {});

  bool holds_keys;          ///< Of this caller alone.
  model::JsonText text;     ///< Ends a LoadTableResult.
  base::gzip::Tail packed;  ///< The same, behind a document that is packed.
  std::string tag;          ///< Of this text, for an ETag.
};

/// The bodies of a loaded table, as gzip.
struct PackedBodies {
  PackedBody all, refs;
};

/// Never changed once made, but for `packed`; shared by all workers.
struct LoadedTable {
  model::LakeTable table;  ///< Nothing pending: all its snapshots are published.
  /// `table.metadata` with the snapshots, logs and "main".
  model::TableMetadata metadata;
  std::string metadata_location;
  std::int64_t metadata_sequence = 0;  ///< Place of that file in the metadata log.
  /// LoadTableResult without its end, which a ClientConfig makes: with all snapshots, and
  /// with snapshots=refs.
  model::JsonText body;
  model::JsonText body_refs;
  /// Made when a client first takes them: nobody may ever ask for this state again.
  std::shared_ptr<PackedBodies> packed = std::make_shared<PackedBodies>();
  std::string etag;  ///< Of this state, without quotes.
  /// Texts that the next LoadedTable of the table uses again.
  std::vector<model::SnapshotFragment> fragments;
  model::JsonText snapshot_log;               ///< Entries joined by ','; null when there are none.
  std::vector<model::JsonText> metadata_log;  ///< Of metadata.metadata_log, one for each entry.
  std::size_t document_begin = 0;  ///< Where metadata.json begins in `body`, which it ends.
  std::string document_sha256;     ///< In hexadecimal.
  /// How far its publication has come; null when nothing is left to be done.
  std::shared_ptr<PendingRecord> pending_record;

  /// metadata.json, to be put at `metadata_location`.
  [[nodiscard]] std::string_view document() const {
    return std::string_view(*body).substr(document_begin);
  }
  [[nodiscard]] const model::JsonText& body_of(model::SnapshotSelection snapshots) const {
    return snapshots == model::SnapshotSelection::kRefs ? body_refs : body;
  }
  [[nodiscard]] PackedBody& packed_of(model::SnapshotSelection snapshots) const {
    return snapshots == model::SnapshotSelection::kRefs ? packed->refs : packed->all;
  }
};
using LoadedTablePtr = std::shared_ptr<const LoadedTable>;

/// One of its bodies as gzip. What tells the client how to reach the store, which may be
/// a secret, follows the packed document as it is (base/gzip/pack.h).
/// Blocks the thread for some milliseconds for each megabyte. Errors: those of base::gzip::pack().
[[nodiscard]] base::Result<PackedText> pack_body(const LoadedTable& loaded,
                                                 model::SnapshotSelection snapshots);

/// What a loaded table takes in memory, estimated: its documents, packed ones too, and the
/// snapshots they are made of, which it may share with the one before it.
[[nodiscard]] std::size_t bytes_of(const LoadedTable& loaded);

/// Makes the answer of a table whose snapshots are all published. Texts of
/// `before` (an earlier one, may be null) are used again, so that the work
/// follows what is new. The caller may add to it before it is shared.
[[nodiscard]] std::shared_ptr<LoadedTable> make_loaded_table(model::LakeTable table,
                                                             const LoadedTablePtr& before);

/// The same published state told with another definition: `told` has the snapshots, the logs and
/// the location of `loaded`. metadata.json stays what it is, so document() is only told. `tag`
/// makes its etag another one.
[[nodiscard]] std::shared_ptr<LoadedTable> told_with(const LoadedTable& loaded,
                                                     model::TableMetadata told,
                                                     std::string_view tag);

/// Refs and statistics of snapshots that `metadata` does not show are dropped.
void drop_dangling(model::TableMetadata& metadata);

/// LoadTableResult, without its end, of a table that does not exist yet (staged creation).
[[nodiscard]] std::string staged_body(const model::TableMetadata& metadata);

}  // namespace lake::publish
