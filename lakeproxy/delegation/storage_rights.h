#pragma once

// Where one caller's keys reach. A catalog that hands out keys to a store opens more than it
// means to as soon as a table may name files that are not its own, or one table's folder lies in
// another's. So what a key opens follows from folders alone, never from what a table names:
// the table's own folder, the folders that an administrator has listed, and nothing else.
// Every way to the store (vended keys, signed requests, the gateway) asks here.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::delegation {

/// What a client's keys may do.
enum class KeyAccess : std::uint8_t { kRead, kReadWrite };

/// The folders that rights are made from.
struct RightsPlaces {
  storage::Location table;                ///< Its folder, with or without '/' at the end.
  std::vector<storage::Location> listed;  ///< Of LAKEPROXY_FILE_PREFIXES.
  /// Folders of other tables and views; those within the table's own are closed.
  std::vector<storage::Location> others;
};

/// What one caller may do with the objects of one table, by their names. Whether an object is
/// recorded, and so may be neither replaced nor removed, is a question to PostgreSQL beside it.
/// Immutable and shared; safe from any thread.
class StorageRights {
 public:
  /// Listed folders of other buckets, and those in or around the table's, add nothing.
  /// Errors: kForbidden  the table lies in another bucket than `bucket`, or in the bucket
  ///         itself: there is no folder that keys could be cut to.
  [[nodiscard]] static base::Result<std::shared_ptr<const StorageRights>> make(
      std::string bucket, const RightsPlaces& places, KeyAccess access);

  /// Under the table's folder or a listed one, and in no other table's.
  [[nodiscard]] bool may_read(const storage::ObjectKey& key) const;
  /// Put a new object there: under the table's folder, not in the server's
  /// own (model::server_folder()).
  [[nodiscard]] bool may_put(const storage::ObjectKey& key) const;
  /// Remove an object that is not recorded: where it may put.
  [[nodiscard]] bool may_remove(const storage::ObjectKey& key) const { return may_put(key); }
  /// List what begins with `prefix`, as ListObjects has it: it names a folder that may be read as
  /// a whole, with its '/', or begins with one. "a/b" would also list "a/bc".
  [[nodiscard]] bool may_list(std::string_view prefix) const;

  [[nodiscard]] KeyAccess access() const { return access_; }
  [[nodiscard]] const std::string& bucket() const { return bucket_; }

  // Prefixes of keys; each ends with '/', none begins with one.

  /// The table's folder.
  [[nodiscard]] const std::string& table_prefix() const { return readable_.front(); }
  /// First the table's folder, then those that are listed.
  [[nodiscard]] const std::vector<std::string>& readable_prefixes() const { return readable_; }
  /// Empty without the access.
  [[nodiscard]] const std::vector<std::string>& writable_prefixes() const { return writable_; }
  /// Within writable ones; closed to every write.
  [[nodiscard]] const std::vector<std::string>& write_denied_prefixes() const {
    return write_denied_;
  }
  /// Within readable ones; closed to everything.
  [[nodiscard]] const std::vector<std::string>& denied_prefixes() const { return denied_; }

  friend bool operator==(const StorageRights&, const StorageRights&) = default;

 private:
  StorageRights(std::string bucket, KeyAccess access)
      : bucket_(std::move(bucket)), access_(access) {}

  std::string bucket_;
  KeyAccess access_;
  std::vector<std::string> readable_;
  std::vector<std::string> writable_;
  std::vector<std::string> write_denied_;
  std::vector<std::string> denied_;
};
using StorageRightsPtr = std::shared_ptr<const StorageRights>;

}  // namespace lake::delegation
