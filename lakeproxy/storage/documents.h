#pragma once

// The XML that S3 and we send each other, as values. All bytes from the store
// are checked here, once.
// Source: Amazon S3 API Reference, 2006-03-01.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/http/message.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::storage {

struct ListedObject {
  ObjectKey key;
  std::uint64_t size = 0;  ///< Bytes.
  base::WallTime modified;
};

/// One page of a listing, in the order of the keys' bytes.
struct ListPage {
  std::vector<ListedObject> objects;
  /// Objects whose names break the rules of ObjectKey. They are not ours and
  /// cannot be reached through here.
  std::size_t unnameable = 0;
  std::string continuation;  ///< Asks for the next page; empty on the last.
};

/// Source: "ListObjectsV2", with encoding-type=url.
/// Errors: kCorrupt  not such a document; kTooLarge  over 1,000 objects.
[[nodiscard]] base::Result<ListPage> read_list_page(std::string_view document);

struct RemoveFailure {
  ObjectKey key;
  base::Error error;
};

/// The body of "DeleteObjects"; the answer then names failures only.
[[nodiscard]] std::string write_delete(const std::vector<ObjectKey>& keys);
/// The failures. An object that does not exist counts as removed.
/// Errors: kCorrupt  not such a document, or a key that was not asked for.
[[nodiscard]] base::Result<std::vector<RemoveFailure>> read_delete_answer(
    std::string_view document, const std::vector<ObjectKey>& asked);

/// Source: "CreateMultipartUpload". Errors: kCorrupt.
[[nodiscard]] base::Result<std::string> read_upload_id(std::string_view document);
/// The body of "CompleteMultipartUpload": the ETags of parts 1, 2, ...
[[nodiscard]] std::string write_complete(const std::vector<std::string>& etags);
/// Success, or the error that may stand in an answer with status 200.
[[nodiscard]] base::Status read_complete_answer(std::string_view document);

/// The body of "CreateBucket" outside the default region.
[[nodiscard]] std::string write_bucket_region(std::string_view region);

/// The error that an answer with a status of 300 or more stands for:
///   kNotFound      404; reason() is "no_such_bucket" for the bucket itself
///   kForbidden     403, 401
///   kAlreadyExists BucketAlreadyOwnedByYou, BucketAlreadyExists
///   kConflict      409, 412
///   kTooLarge      413, EntityTooLarge
///   kUnavailable   5xx, 408, 429, SlowDown, RequestTimeout
///   kUnsupported   501, redirects
///   kInvalid       any other 4xx
/// The detail holds the status, the store's code and its request id; never
/// its message, which may repeat what was signed.
[[nodiscard]] base::Error to_error(const base::http::Response& answer);
/// The store's code in the answer, such as "NoSuchKey"; empty without one.
[[nodiscard]] std::string error_code(const base::http::Response& answer);

/// "2026-01-31T23:59:59.123Z". Source: RFC 3339, section 5.6, UTC only.
[[nodiscard]] std::optional<base::WallTime> parse_time(std::string_view text);

}  // namespace lake::storage
