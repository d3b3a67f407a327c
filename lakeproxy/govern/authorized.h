#pragma once

// The proof that policy was asked: an operation takes Authorized<Request>, and
// only authorize() can make one. An operation that skips policy does not
// compile.

#include <utility>

#include "base/core/result.h"
#include "lakeproxy/auth/principal.h"

namespace lake::govern {

/// What a route asks of its caller. Every route names one; there is no default.
enum class Permission {
  kPublic,            ///< Needs no identity: health, metrics, configuration.
  kReadNamespace,     ///< r on the namespace.
  kWriteNamespace,    ///< w on the namespace: its tables' data and definitions.
  kManageNamespaces,  ///< w on all namespaces: create and drop them.
};

template <class T>
class Authorized {
 public:
  [[nodiscard]] const T& operator*() const { return request_; }
  [[nodiscard]] const T* operator->() const { return &request_; }
  [[nodiscard]] const auth::Principal& principal() const { return principal_; }

 private:
  Authorized(auth::Principal principal, T request)
      : principal_(std::move(principal)), request_(std::move(request)) {}

  template <class U>
  friend base::Result<Authorized<U>> authorize(const auth::Principal& principal,
                                               Permission permission, U request);

  auth::Principal principal_;
  T request_;
};

/// Errors: kForbidden  the principal lacks the permission.
template <class T>
[[nodiscard]] base::Result<Authorized<T>> authorize(const auth::Principal& principal,
                                                    Permission permission, T request) {
  if (permission != Permission::kPublic && !principal.superuser) {
    return base::fail(base::ErrorKind::kForbidden, "not allowed to " + principal.subject);
  }
  return Authorized<T>(principal, std::move(request));
}

}  // namespace lake::govern
