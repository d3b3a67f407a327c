#pragma once

// The policy of the lake's bucket that cuts static keys to what their principals' scopes open. Such
// a key lives until somebody removes it, so it gets the least that works: it reads and adds
// objects in folders of tables, and neither lists nor deletes.
// Source: Amazon S3 User Guide, "Policies and permissions in Amazon S3".

#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/auth/scope.h"
#include "lakeproxy/model/identifier.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::delegation {

struct PolicyKey {
  std::string access_key;
  auth::Scopes scopes;
};

struct PolicyFolder {
  model::Namespace name_space;
  storage::Location folder;  ///< Of a table.
};

/// The bytes that a bucket policy may have.
inline constexpr std::size_t kMostBucketPolicyBytes = 20 * 1024;

struct BucketPolicy {
  std::string text;                        ///< JSON; empty where it would allow nothing.
  std::vector<std::string> left_out = {};  ///< Folders that no policy can name, or that overlap.
};

/// Folders outside of the bucket, those whose names a policy reads as patterns, and those in or
/// around a folder of another namespace are left out: the one would open the other.
/// Errors: kTooLarge  it has more bytes than a store takes.
[[nodiscard]] base::Result<BucketPolicy> bucket_policy(const std::string& bucket,
                                                       const std::vector<PolicyKey>& keys,
                                                       const std::vector<PolicyFolder>& folders);

}  // namespace lake::delegation
