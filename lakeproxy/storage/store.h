#pragma once

// The bucket that holds the lake: whole objects in and out, listed, removed.
// Every operation here may be repeated without harm, so failures that pass are
// retried inside (see Requester), and a caller that still gets one decides by
// its kind alone.
// Source: Amazon S3 API Reference, 2006-03-01.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/http/message.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/storage/documents.h"
#include "lakeproxy/storage/location_rules.h"
#include "lakeproxy/storage/requester.h"

namespace lake::storage {

struct StoreOptions {
  std::string endpoint;  ///< "http://host:port" or "https://host[:port]".
  std::string region = "us-east-1";
  std::string bucket;
  std::string access_key;
  base::Secret secret_key;
  base::Secret session_token = {};
  Addressing addressing = Addressing::kPath;
  std::string ca_file = {};               ///< PEM; the system's roots when empty.
  std::size_t connections = 32;           ///< Open at once.
  std::size_t object_bytes = 256 << 20;   ///< The largest object that get() reads.
  std::size_t multipart_over = 64 << 20;  ///< put() splits objects larger than this.
  std::size_t part_bytes = 16 << 20;      ///< At least 5 MiB, a rule of S3.
  unsigned tries = 3;
  std::chrono::milliseconds first_pause{100};
};

enum class PutOutcome { kStored, kExisted };

struct ObjectInfo {
  std::uint64_t size = 0;  ///< Bytes.
  std::string etag;        ///< With its quotes.
};

/// One bucket, used from one event loop and destroyed before it.
/// Errors of all operations, besides those they name:
///   kForbidden    the store refuses our credentials; the detail has its code;
///   kUnavailable  the store is away, also after retries;
///   kTimeout      the context's deadline passed;
///   kOutcomeUnknown  (changes only) sent, and never answered;
///   kCancelled    the awaiting coroutine was cancelled;
///   kCorrupt      the store's answer breaks its format.
class ObjectStore {
 public:
  /// `clock` and `random` outlive the store.
  /// Errors: kInvalid  an option breaks its rule; the message names it.
  [[nodiscard]] static base::Result<std::unique_ptr<ObjectStore>> create(StoreOptions options,
                                                                         const base::Clock& clock,
                                                                         base::Random& random);

  [[nodiscard]] const std::string& bucket() const { return options_.bucket; }
  /// From now on tells each request to `meter`, which outlives the store.
  void measure_with(measure::WaitMeter& meter) { requester_.measure_with(meter); }

  /// The whole object. Errors: kNotFound; kTooLarge  over object_bytes.
  [[nodiscard]] base::Task<base::Result<std::string>> get(base::RequestContext context,
                                                          ObjectKey key);
  /// `length` > 0 bytes from `offset`, fewer when the object ends before.
  /// Errors: kNotFound; kInvalid  starts at or after the end, or no length;
  ///         kUnsupported  the store does not serve ranges.
  [[nodiscard]] base::Task<base::Result<std::string>> get_range(base::RequestContext context,
                                                                ObjectKey key, std::uint64_t offset,
                                                                std::uint64_t length);
  /// Errors: kNotFound.
  [[nodiscard]] base::Task<base::Result<ObjectInfo>> head(base::RequestContext context,
                                                          ObjectKey key);

  /// Stores the object, replacing another of that name. Readers see the old
  /// or the new one, never a part.
  /// Errors: kTooLarge  over 10,000 parts.
  [[nodiscard]] base::Task<base::Status> put(base::RequestContext context, ObjectKey key,
                                             base::http::Body bytes, std::string content_type);
  /// Stores the object unless one of that name exists. After a lost answer
  /// the object found may be our own: names here follow from the content, so
  /// kExisted means that the content is there. Sent in one piece. `sha256` is
  /// that of `bytes` in hexadecimal where it is known already, else empty.
  /// Errors: kConflict  others keep writing the same name.
  [[nodiscard]] base::Task<base::Result<PutOutcome>> put_if_absent(base::RequestContext context,
                                                                   ObjectKey key,
                                                                   base::http::Body bytes,
                                                                   std::string content_type,
                                                                   std::string sha256 = {});

  /// One page of the objects whose keys start with `prefix`; `continuation`
  /// is empty, or that of the page before.
  [[nodiscard]] base::Task<base::Result<ListPage>> list(base::RequestContext context,
                                                        std::string prefix,
                                                        std::string continuation);
  /// All pages. Errors: kTooLarge  over `limit` objects.
  [[nodiscard]] base::Task<base::Result<std::vector<ListedObject>>> list_all(
      base::RequestContext context, std::string prefix, std::size_t limit);

  /// Removes the object; one that does not exist is removed already.
  [[nodiscard]] base::Task<base::Status> remove(base::RequestContext context, ObjectKey key);
  /// Removes any number of objects, a thousand to a request. The value names
  /// those that could not be removed; after an error of the call as a whole
  /// some are removed and some are not.
  [[nodiscard]] base::Task<base::Result<std::vector<RemoveFailure>>> remove_many(
      base::RequestContext context, std::vector<ObjectKey> keys);

  /// Whether the store carries out what a header field asks for that no signature covers. Then
  /// whoever is given one signature for one new object can make it a copy of any other: no
  /// changes may be signed for others. Amazon S3 refuses such requests. Tried with two objects
  /// whose names begin with `scratch`; they are removed again.
  [[nodiscard]] base::Task<base::Result<bool>> obeys_unsigned_headers(base::RequestContext context,
                                                                      ObjectKey scratch);

  /// Whether the bucket answers to our credentials.
  /// Errors: kNotFound  no such bucket.
  [[nodiscard]] base::Task<base::Status> ready(base::RequestContext context);
  /// Makes the bucket, for development and tests; one that is ours is fine.
  /// Errors: kAlreadyExists  it belongs to somebody else.
  [[nodiscard]] base::Task<base::Status> create_bucket(base::RequestContext context);

 private:
  ObjectStore(StoreOptions options, RequesterOptions requester, const base::Clock& clock,
              base::Random& random)
      : options_(std::move(options)), requester_(std::move(requester), clock, random) {}

  base::Task<base::Status> put_in_parts(base::RequestContext context, ObjectKey key,
                                        base::http::Body bytes, std::string content_type);
  base::Task<base::Result<std::vector<std::string>>> send_parts(base::RequestContext context,
                                                                ObjectKey key,
                                                                std::string upload_id,
                                                                base::http::Body bytes);
  base::Task<base::Status> complete(base::RequestContext context, ObjectKey key,
                                    std::string upload_id, std::vector<std::string> etags);
  base::Task<base::Status> look_for(base::RequestContext context, ObjectKey key,
                                    std::vector<std::string> etags);
  base::Task<void> abandon(base::RequestContext context, ObjectKey key, std::string upload_id);
  base::Task<base::Result<base::http::Response>> send_ok(base::RequestContext context,
                                                         S3Request request);

  StoreOptions options_;
  Requester requester_;
};

}  // namespace lake::storage
