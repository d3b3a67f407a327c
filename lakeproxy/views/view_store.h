#pragma once

// The views of one lake: rows of ducklake_view, which DuckDB clients write too,
// and beside them what Iceberg knows of a view and DuckLake has no column for.
// Each change is one PostgreSQL transaction and one lake snapshot.
// Source: DuckLake specification 1.0; Iceberg view specification.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/ducklake/lake/name_page.h"
#include "lakeproxy/ducklake/lake/open_lake.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/ducklake/lake/relations.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/iceberg/view/view.h"
#include "lakeproxy/model/idempotency_key.h"

namespace lake::ducklake {

class Committer;

/// A view as one state of the lake has it.
struct LakeView {
  std::int64_t view_id = 0;
  std::int64_t begin_snapshot = 0;  ///< Of the row that DuckDB sees.
  std::int64_t revision = 0;        ///< Of the sidecar; 0 when there is none.
  /// Of a view without a sidecar: one version with DuckDB's SQL, and of the
  /// columns only what DuckLake keeps (see columns_known).
  model::ViewMetadata metadata;
  /// Where the metadata was put when it was last written; empty without a sidecar.
  std::string metadata_location;
  /// False for a view that DuckDB made: DuckLake keeps no types, and names only
  /// where the author gave some.
  bool columns_known = true;
};

struct NewLakeView {
  model::TableIdentifier identifier;
  model::ViewMetadata metadata;
  std::string metadata_location;
};

/// The view as `before` was read must still be what the lake holds, or nothing
/// is written.
struct ViewChange {
  model::TableIdentifier identifier;
  std::shared_ptr<const LakeView> before;
  model::ViewMetadata after;
  std::string metadata_location;
};

/// One event loop's access. `pool` outlives it. Errors everywhere: those of
/// Pool::read, and of Committer::commit for changes.
class ViewStore {
 public:
  ViewStore(base::pg::Pool& pool, LakeOptions options, CommitWatch watch = {});

  /// The same store for one change that the client named by a key: its idempotency record
  /// is written with the change. Errors besides: kConflict (kAlreadyDone).
  [[nodiscard]] ViewStore keyed(std::optional<model::IdempotencyKey> key) const {
    ViewStore store = *this;
    store.key_ = std::move(key);
    return store;
  }

  /// Names, without those that are reserved for masks.
  /// Errors: kNotFound (kNoSuchNamespace).
  [[nodiscard]] base::Task<base::Result<Page<std::string>>> list_views(base::RequestContext context,
                                                                       model::Namespace name_space,
                                                                       PageRequest page);
  /// Errors: kNotFound (kNoSuchView); kCorrupt  a sidecar breaks its form.
  [[nodiscard]] base::Task<base::Result<LakeView>> load_view(base::RequestContext context,
                                                             model::TableIdentifier identifier);

  /// For answers before anything is written; create_view checks it again.
  /// Errors: kAlreadyExists  a table or view has the name.
  [[nodiscard]] base::Task<base::Result<void>> check_name_is_free(base::RequestContext context,
                                                                  model::TableIdentifier identifier,
                                                                  RelationKind wanted);
  /// Errors: kAlreadyExists  a table or view has the name;
  ///         kNotFound (kNoSuchNamespace).
  [[nodiscard]] base::Task<base::Result<void>> create_view(base::RequestContext context,
                                                           NewLakeView view);
  /// A change that DuckDB cannot see makes no lake snapshot.
  /// Errors: kNotFound (kNoSuchView); kConflict (kStale)  it is not as `before` says.
  [[nodiscard]] base::Task<base::Result<void>> replace_view(base::RequestContext context,
                                                            ViewChange change);
  /// Errors: kNotFound (kNoSuchView).
  [[nodiscard]] base::Task<base::Result<void>> drop_view(base::RequestContext context,
                                                         model::TableIdentifier identifier);
  /// Errors: kNotFound (kNoSuchView, kNoSuchNamespace); kAlreadyExists.
  [[nodiscard]] base::Task<base::Result<void>> rename_view(base::RequestContext context,
                                                           model::TableIdentifier from,
                                                           model::TableIdentifier to);

 private:
  base::pg::Pool* pool_;
  std::shared_ptr<Committer> committer_;
  LakeOptions options_;
  SchemaSql sql_;
  std::optional<model::IdempotencyKey> key_;
};

}  // namespace lake::ducklake
