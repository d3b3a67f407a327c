#pragma once

// Signs requests to the object store for clients that have no keys ("remote signing"). A store
// knows the server's own keys alone and lets them do everything, so each request is held against
// its caller's rights to one table first. What a signature allows is then as narrow as one
// request: the operation, the object, and for a new object that there is none of that name.
// Source: Iceberg REST description, "signRequest".

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/http/message.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/delegation/s3_request.h"
#include "lakeproxy/delegation/storage_rights.h"
#include "lakeproxy/model/identifier.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/policy/authorized.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::delegation {

/// What a client wants to send to the store.
struct SignRequest {
  base::http::Method method = base::http::Method::kGet;
  std::string uri;
  base::http::Headers headers;
  std::optional<std::string> body;  ///< Of DeleteObjects.
};

/// A request about one table's objects.
struct SignForTable {
  model::TableIdentifier identifier;
  /// Of a table that is staged: its name is free, and its folder follows from this.
  std::optional<base::Uuid> staged;
  SignRequest request;
};
[[nodiscard]] inline policy::Targets targets(const SignForTable& request) {
  return {policy::Target::table(request.identifier)};
}

/// The same of clients that name no table: the object says which one. Whether the caller may
/// read that table is asked when it is found.
struct SignByObject {
  SignRequest request;
};
[[nodiscard]] inline policy::Targets targets(const SignByObject&) {
  return {policy::Target::catalog()};
}

struct SignedRequest {
  std::string uri;              ///< To be sent to, as it was signed; may be another address.
  base::http::Headers headers;  ///< To be added to the client's own.
  bool reusable = false;        ///< The same answer may serve the same request for a while.
};

/// Whether signatures of changes can be stretched at the store; found out once for the process.
enum class StoreStrictness : std::uint8_t { kUnknown, kStrict, kLax };
using SharedStrictness = std::atomic<StoreStrictness>;

struct SignerOptions {
  S3Address address;
  storage::Credentials credentials;
  std::string region;
  std::chrono::microseconds cache_time{};  ///< For which rights are remembered.
};

inline constexpr std::string_view kRecorded = "recorded";
inline constexpr std::string_view kLaxStore = "lax_store";
inline constexpr std::string_view kNoTable = "no_table";

/// Of one event loop. `clock`, `random` and `strictness` outlive it.
/// Errors of sign(), besides those of parse_s3_request(), authorize_s3() and storage_rights():
///   kForbidden    kRecorded  it would replace or remove an object that the lake or a published
///                 snapshot names; kNoTable  the object is in no table's folder, or in one that
///                 the caller may not read;
///   kUnsupported  kLaxStore  a change, and the store obeys header fields that are not signed;
///   kUnavailable, kTimeout  PostgreSQL or the store cannot tell.
class RemoteSigner {
 public:
  RemoteSigner(SignerOptions options, const base::Clock& clock, base::Random& random,
               SharedStrictness& strictness);

  [[nodiscard]] base::Task<base::Result<SignedRequest>> sign(
      base::RequestContext context, operation::Catalog* catalog,
      policy::Authorized<SignForTable> request);
  [[nodiscard]] base::Task<base::Result<SignedRequest>> sign(
      base::RequestContext context, operation::Catalog* catalog,
      policy::Authorized<SignByObject> request);

 private:
  struct Subject {
    auth::Principal principal;
    model::TableIdentifier identifier;
    std::optional<base::Uuid> staged;
  };
  template <class T>
  struct Remembered {
    T value;
    base::WallTime until;
  };
  template <class T>
  using Memory = std::map<std::string, Remembered<T>, std::less<>>;

  [[nodiscard]] base::Result<S3Operation> read(const SignRequest& request) const;
  base::Task<base::Result<SignedRequest>> judge(base::RequestContext context,
                                                operation::Catalog* catalog, Subject subject,
                                                base::Result<S3Operation> asked,
                                                SignRequest request);
  base::Task<base::Result<SignedRequest>> sign_found(base::RequestContext context,
                                                     operation::Catalog* catalog,
                                                     policy::Authorized<SignByObject> request);
  base::Task<base::Result<StorageRightsPtr>> rights(base::RequestContext context,
                                                    operation::Catalog* catalog, Subject subject);
  base::Task<base::Result<model::TableIdentifier>> table_of(base::RequestContext context,
                                                            operation::Catalog* catalog,
                                                            std::string object);
  base::Task<base::Status> check_change(base::RequestContext context, operation::Catalog* catalog,
                                        S3Operation operation);
  base::Task<base::Status> check_strict(base::RequestContext context, operation::Catalog* catalog);
  [[nodiscard]] base::Result<SignedRequest> sign_now(const S3Operation& operation,
                                                     const SignRequest& request);

  template <class T>
  std::optional<T> recall(Memory<T>& memory, const std::string& key) const;
  template <class T>
  void remember(Memory<T>& memory, std::string key, T value, base::WallTime since);

  SignerOptions options_;
  const base::Clock& clock_;
  base::Random& random_;
  SharedStrictness& strictness_;
  storage::Signer signer_;
  Memory<StorageRightsPtr> rights_;                  ///< By principal and table.
  Memory<model::TableIdentifier> tables_by_folder_;  ///< By catalog and folder of an object.
};

/// What "config" of a LoadTableResult says, so that a client asks `url` for signatures: names and
/// values. `url` is this service's address as the client sees it, `prefix` the catalog's.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> signing_config(
    const std::string& url, const std::string& prefix, const model::TableIdentifier& table,
    std::optional<base::Uuid> staged);

}  // namespace lake::delegation
