#pragma once

// The proof that policy was asked: an operation takes Authorized<Request>, and
// only authorize() can make one. An operation that skips policy does not
// compile.

#include <optional>
#include <utility>

#include "base/core/result.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/model/idempotency_key.h"

namespace lake::policy {

/// What a route asks of its caller. Every route names one; there is no default.
enum class Permission {
  kPublic,            ///< Needs no identity: health, metrics, configuration.
  kReadNamespace,     ///< r on the namespace.
  kWriteNamespace,    ///< w on the namespace: its tables' data and definitions.
  kManageNamespaces,  ///< w on all namespaces: create and drop them.
  kManageCatalogs,    ///< Admin scope: provision catalogs, and look after what is in them.
};

template <class T>
class Authorized {
 public:
  [[nodiscard]] const T& operator*() const { return request_; }
  [[nodiscard]] const T* operator->() const { return &request_; }
  [[nodiscard]] const auth::Principal& principal() const { return principal_; }
  /// The name that the client gave the change, for the transaction that makes it.
  [[nodiscard]] const std::optional<model::IdempotencyKey>& key() const { return key_; }

 private:
  Authorized(auth::Principal principal, T request, std::optional<model::IdempotencyKey> key)
      : principal_(std::move(principal)), request_(std::move(request)), key_(std::move(key)) {}

  template <class U>
  friend base::Result<Authorized<U>> authorize(const auth::Principal& principal,
                                               Permission permission, U request,
                                               std::optional<model::IdempotencyKey> key);

  auth::Principal principal_;
  T request_;
  std::optional<model::IdempotencyKey> key_;
};

/// Whether the principal may know of a catalog that belongs to `account`;
/// nothing: to nobody in particular.
/// Source: specification, section 5.6.
[[nodiscard]] inline bool may_reach(const auth::Principal& principal,
                                    const std::optional<std::string>& account) {
  return !account || principal.superuser || principal.account == account;
}

/// Errors: kForbidden  the principal lacks the permission.
template <class T>
[[nodiscard]] base::Result<Authorized<T>> authorize(
    const auth::Principal& principal, Permission permission, T request,
    std::optional<model::IdempotencyKey> key = std::nullopt) {
  if (permission != Permission::kPublic && !principal.superuser) {
    return base::fail(base::ErrorKind::kForbidden, "not allowed to " + principal.subject);
  }
  return Authorized<T>(principal, std::move(request), std::move(key));
}

}  // namespace lake::policy
