#pragma once

// A request to the object store that a client wants to make with a key that is not its own: what
// it would do, to which objects. A store reads the same bytes with rules of its own, and the two
// readings must not differ: what could be read in two ways is refused here, and what is sent or
// signed afterwards is written anew from the value, never the client's bytes.
// Source: Amazon S3 API Reference, 2006-03-01.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/http/client.h"
#include "base/http/message.h"
#include "lakeproxy/storage/location_rules.h"
#include "lakeproxy/storage/requester.h"

namespace lake::delegation {

class StorageRights;

/// Everything that is ever allowed; there is no form for copies, versions, access lists, tags and
/// the configuration of buckets.
enum class S3Action : std::uint8_t {
  kGetObject,
  kHeadObject,
  kPutObject,
  kDeleteObject,
  kDeleteObjects,
  kListObjects,
  kListParts,
  kCreateUpload,
  kUploadPart,
  kCompleteUpload,
  kAbortUpload,
};
/// As S3 calls it, e.g. "GetObject".
[[nodiscard]] std::string_view to_string(S3Action action);
/// Whether it leaves everything as it is.
[[nodiscard]] bool is_read(S3Action action);

/// The one address and bucket that requests are for. A request in the other form of address is
/// refused: a store that does not know the form takes the key's beginning for a bucket.
struct S3Address {
  base::http::Origin origin;  ///< Without the bucket; its host in lower case.
  storage::Addressing addressing = storage::Addressing::kPath;
  std::string bucket;

  /// What a request's Host field says: without the port where it is the scheme's own.
  [[nodiscard]] std::string host() const;
};

/// A request as a client wrote it; borrowed. Whoever received it leaves out the fields that proxies
/// on the way have added.
struct S3RequestText {
  base::http::Method method = base::http::Method::kGet;
  std::string_view host;   ///< Of the URL or the Host field, with its port.
  std::string_view path;   ///< Still percent-encoded, from '/' on.
  std::string_view query;  ///< The same, without '?'.
  const base::http::Headers* headers = nullptr;
  std::optional<std::string_view> body = std::nullopt;  ///< Needed for kDeleteObjects alone.
};

struct S3Operation {
  S3Action action = S3Action::kGetObject;
  std::vector<storage::ObjectKey> keys;   ///< One; up to 1,000 of kDeleteObjects; none of a list.
  std::string prefix;                     ///< Of a list, not empty.
  std::string path;                       ///< To be sent: not encoded, from '/' on.
  std::vector<storage::Parameter> query;  ///< To be sent.
  /// The names that `keys` have, or `prefix` has, for a store that decodes '%' once more than it
  /// should. They must be allowed as well.
  std::vector<storage::ObjectKey> other_keys;
  std::vector<std::string> other_prefixes;
};

/// Reads one request. Errors, each with a reason() of those below:
///   kInvalid    malformed, or more than one reading;
///   kForbidden  clear, and never allowed: another address or bucket, a copy, a version, a
///               sub-resource or a header that is not among those known.
[[nodiscard]] base::Result<S3Operation> parse_s3_request(const S3Address& store,
                                                         const S3RequestText& request);

inline constexpr std::string_view kBadAddress = "address";
inline constexpr std::string_view kBadMethod = "method";
inline constexpr std::string_view kBadPath = "path";
inline constexpr std::string_view kBadQuery = "query";
inline constexpr std::string_view kBadHeader = "header";
inline constexpr std::string_view kBadBody = "body";
inline constexpr std::string_view kCopy = "copy";
inline constexpr std::string_view kVersion = "version";

/// The parts of an absolute URL, borrowed from it.
struct S3Url {
  bool encrypted = false;
  std::string_view host;  ///< With its port.
  std::string_view path;  ///< "/" where the URL has none.
  std::string_view query;
};
/// Errors: kInvalid  no such URL, or one with a user or a fragment.
[[nodiscard]] base::Result<S3Url> split_s3_url(std::string_view url);

/// Where a request that was read is sent, as it was signed.
[[nodiscard]] std::string url_of(const S3Address& store, const S3Operation& operation);

/// The objects that the body of DeleteObjects names.
/// Errors: kInvalid  another document, versions or conditions, over 1,000 objects, or anything
///         that two readers of XML could take for two names.
[[nodiscard]] base::Result<std::vector<storage::ObjectKey>> read_delete_body(std::string_view body);

inline constexpr std::string_view kNotReadable = "not_readable";
inline constexpr std::string_view kNotWritable = "not_writable";
inline constexpr std::string_view kNotRemovable = "not_removable";
inline constexpr std::string_view kNotListable = "not_listable";

/// Whether the rights cover every name of the operation. Whether an object that it would change
/// is recorded by the lake is another question (lakeproxy_is_recorded).
/// Errors: kForbidden, with a reason() of those above.
[[nodiscard]] base::Status authorize_s3(const S3Operation& operation, const StorageRights& rights);

}  // namespace lake::delegation
