#pragma once

// A table as one caller may see it. What is loaded of a table (publish::LoadedTable) is the same
// for everybody and holds all there is. It becomes an answer here alone, with the proof
// that policy allowed the request and as governance lets the caller see it (see_table());
// operations give nothing else to http/.

#include <optional>
#include <string>

#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/operation/see_table.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {

/// The bytes of an answer: what all callers share, and the end that is made for one.
struct AnswerText {
  model::JsonText beginning;
  model::JsonText end;
};

/// Of one request, which the catalog outlives.
class ShownTable {
 public:
  /// `seen` is the table that the request is about, in `catalog`, as its caller may see it.
  template <class T>
  ShownTable(const policy::Authorized<T>&, const Catalog& catalog, SeenTable seen)
      : seen_(std::move(seen)), loaded_(seen_.loaded), config_(catalog.client_config) {}

  /// Tells this state in this form, without quotes; another one for whoever is told something else.
  [[nodiscard]] std::string etag(model::SnapshotSelection snapshots,
                                 std::optional<model::SnapshotId> at = std::nullopt) const;
  /// From now on the answer ends with this: what this caller alone is told of the store.
  void tell(std::shared_ptr<const publish::ClientConfig> config) { config_ = std::move(config); }
  /// Whether the answer holds keys of the caller, which nobody may keep for another one.
  [[nodiscard]] bool holds_keys() const { return config_->holds_keys; }
  /// The table, for delegation/, which cuts keys to what it shows. No answer is made of it.
  [[nodiscard]] const SeenTable& seen() const { return seen_; }
  /// LoadTableResult.
  [[nodiscard]] AnswerText text(model::SnapshotSelection snapshots) const;
  /// That of the table as of one of its snapshots.
  [[nodiscard]] AnswerText text_at(model::SnapshotId snapshot,
                                   model::SnapshotSelection snapshots) const;
  /// text() as gzip, where pack() has made it before.
  [[nodiscard]] std::optional<AnswerText> packed(model::SnapshotSelection snapshots) const;
  /// The same, made if need be. `identifier` is the table's.
  /// Errors: those of LoadedTables::packed().
  [[nodiscard]] base::Task<base::Result<AnswerText>> pack(base::RequestContext context,
                                                          Catalog* catalog,
                                                          model::TableIdentifier identifier,
                                                          model::SnapshotSelection snapshots) const;
  /// UnregisterTableResult.
  [[nodiscard]] std::string unregistered() const;
  /// The folder of its files, without '/' at the end.
  [[nodiscard]] const std::string& location() const { return loaded_->metadata.location; }

 private:
  [[nodiscard]] AnswerText packed_text(const publish::PackedText& packed) const;

  SeenTable seen_;
  publish::LoadedTablePtr loaded_;
  std::shared_ptr<const publish::ClientConfig> config_;  ///< Of this caller.
};

/// The answer to a table that is staged: there is nothing yet that could be hidden.
[[nodiscard]] AnswerText staged_text(const Catalog& catalog, const model::TableMetadata& metadata);

}  // namespace lake::operation
