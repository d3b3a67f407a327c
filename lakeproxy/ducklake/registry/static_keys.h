#pragma once

// Keys of the object store that belong to one principal each, for stores that make no temporary
// ones and clients that cannot sign. The store does not know of scopes, so a key is handed out only
// once a bucket policy was written that cuts it, and only to a token that may do as much.

#include <optional>
#include <string>
#include <vector>

#include "base/core/secret.h"
#include "base/json/json.h"
#include "lakeproxy/ducklake/lake/open_lake.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"

namespace lake::ducklake {

inline constexpr std::string_view kNoSuchKey = "no_such_static_key";

struct StaticKey {
  std::string access_key;
  std::string principal;
  base::Secret secret;  ///< Empty where the client knows it.
  std::string note;
  bool confined = false;
  std::optional<std::string> applied_scope;  ///< Of the bucket policy; nothing: none is applied.
};
/// The body that registers a key. Errors: kInvalid  names the member.
[[nodiscard]] base::Result<StaticKey> static_key_from_json(const base::json::Value& body);
/// Everything but the secret.
[[nodiscard]] base::json::Object to_json(const StaticKey& key);

/// Where tables lie, by the names of their namespaces.
struct NamespaceFolder {
  std::string schema;  ///< As in the lake.
  std::string folder;  ///< Location, ends in '/'.
};

/// One catalog's, on one event loop. `pool` outlives it. Errors everywhere: kUnavailable, kTimeout.
class StaticKeys {
 public:
  StaticKeys(base::pg::Pool& pool, const LakeOptions& lake)
      : pool_(&pool), sql_(lake.metadata_schema) {}

  /// Also in the place of one with this id; what was applied counts no more.
  [[nodiscard]] base::Task<base::Status> put(base::RequestContext context, StaticKey key);
  [[nodiscard]] base::Task<base::Result<std::vector<StaticKey>>> list(base::RequestContext context);
  /// The newest of the principal's that has a secret; nothing without one.
  [[nodiscard]] base::Task<base::Result<std::optional<StaticKey>>> of(base::RequestContext context,
                                                                      std::string principal);
  /// Errors: kNotFound (kNoSuchKey).
  [[nodiscard]] base::Task<base::Status> remove(base::RequestContext context,
                                                std::string access_key);
  /// The policy at the store lets the key do what `scope` says; nothing: it is in none.
  [[nodiscard]] base::Task<base::Status> note_applied(base::RequestContext context,
                                                      std::string access_key,
                                                      std::optional<std::string> scope);
  /// Folders of the live tables, but for those in or around the folder of a table that somebody
  /// gets masked copies of: a static key lives longer than any policy.
  [[nodiscard]] base::Task<base::Result<std::vector<NamespaceFolder>>> table_folders(
      base::RequestContext context);

 private:
  base::pg::Pool* pool_;
  SchemaSql sql_;
};

}  // namespace lake::ducklake
