#include <algorithm>

#include "lakeproxy/delegation/s3_request.h"
#include "lakeproxy/delegation/storage_rights.h"

namespace lake::delegation {
namespace {

using storage::ObjectKey;

base::Status allowed(bool is_allowed, std::string_view reason, std::string_view name) {
  if (is_allowed) return {};
  return base::fail(base::ErrorKind::kForbidden, "not allowed on " + std::string(name))
      .with_reason(reason);
}

base::Status check_key(S3Action action, const ObjectKey& key, const StorageRights& rights) {
  switch (action) {
    case S3Action::kGetObject:
    case S3Action::kHeadObject: return allowed(rights.may_read(key), kNotReadable, key.text());
    case S3Action::kDeleteObject:
    case S3Action::kDeleteObjects:
      return allowed(rights.may_remove(key), kNotRemovable, key.text());
    // What a client has uploaded in parts and not completed is no object yet.
    case S3Action::kPutObject:
    case S3Action::kListParts:
    case S3Action::kCreateUpload:
    case S3Action::kUploadPart:
    case S3Action::kCompleteUpload:
    case S3Action::kAbortUpload: return allowed(rights.may_put(key), kNotWritable, key.text());
    case S3Action::kListObjects: break;  // Names no object.
  }
  return allowed(false, kNotReadable, key.text());
}

}  // namespace

base::Status authorize_s3(const S3Operation& operation, const StorageRights& rights) {
  if (operation.action == S3Action::kListObjects) {
    RETURN_IF_ERROR(allowed(rights.may_list(operation.prefix), kNotListable, operation.prefix));
    for (const std::string& other : operation.other_prefixes) {
      RETURN_IF_ERROR(allowed(rights.may_list(other), kNotListable, operation.prefix));
    }
    return {};
  }
  if (operation.keys.empty()) return allowed(false, kNotReadable, "nothing");
  for (const ObjectKey& key : operation.keys) {
    RETURN_IF_ERROR(check_key(operation.action, key, rights));
  }
  for (const ObjectKey& key : operation.other_keys) {
    RETURN_IF_ERROR(check_key(operation.action, key, rights));
  }
  return {};
}

}  // namespace lake::delegation
