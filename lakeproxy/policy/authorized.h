#pragma once

// The proof that policy was asked: an operation takes Authorized<Request>, and
// only authorize() can make one. An operation that skips policy does not
// compile, nor does a request that does not say what it is about.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/model/idempotency_key.h"
#include "lakeproxy/model/identifier.h"

namespace lake::policy {

/// What a route asks of its caller. Every route names one; there is no default.
enum class Permission : std::uint8_t {
  kPublic,            ///< Needs no identity: health, metrics, tokens.
  kGreeting,          ///< Needs none, and tells more to whoever shows one: configuration.
  kListNamespaces,    ///< r on the namespace or on one nested in it; of the catalog: any scope.
                      ///< What is listed is what may_see() lets through.
  kReadNamespace,     ///< r on the namespace.
  kWriteNamespace,    ///< w on the namespace: its tables' data and definitions.
  kManageNamespaces,  ///< w on all namespaces: create and drop them.
  kManageCatalogs,    ///< Admin scope: provision catalogs, and look after what is in them.
  kReadOnBehalf,      ///< Admin scope: see rows as somebody else would read them.
};
/// Whether strangers may ask.
[[nodiscard]] inline bool is_open(Permission permission) {
  return permission == Permission::kPublic || permission == Permission::kGreeting;
}

/// One thing that a request reads or changes, by the names that its client gave; a rename
/// has two. It borrows them from the request.
class Target {
 public:
  /// The server itself, beside all catalogs.
  [[nodiscard]] static Target server() { return {Kind::kServer, nullptr, nullptr}; }
  /// All that is in the catalog of the request.
  [[nodiscard]] static Target catalog() { return {Kind::kCatalog, nullptr, nullptr}; }
  /// A namespace with all that is in it.
  [[nodiscard]] static Target of(const model::Namespace& name) {
    return {Kind::kNamespace, &name, nullptr};
  }
  [[nodiscard]] static Target table(const model::Namespace& parent, const std::string& name) {
    return {Kind::kTable, &parent, &name};
  }
  [[nodiscard]] static Target table(const model::TableIdentifier& identifier) {
    return table(identifier.name_space, identifier.name);
  }
  [[nodiscard]] static Target view(const model::Namespace& parent, const std::string& name) {
    return {Kind::kView, &parent, &name};
  }
  [[nodiscard]] static Target view(const model::TableIdentifier& identifier) {
    return view(identifier.name_space, identifier.name);
  }

  /// Null for the catalog and the server.
  [[nodiscard]] const model::Namespace* name_space() const { return name_space_; }
  [[nodiscard]] bool is_server() const { return kind_ == Kind::kServer; }
  /// "table a.b.t"; for logs.
  [[nodiscard]] std::string display() const;
  friend bool operator==(const Target& a, const Target& b);

 private:
  enum class Kind : std::uint8_t { kServer, kCatalog, kNamespace, kTable, kView };
  Target(Kind kind, const model::Namespace* name_space, const std::string* name)
      : kind_(kind), name_space_(name_space), name_(name) {}

  Kind kind_;
  const model::Namespace* name_space_;
  const std::string* name_;
};
using Targets = std::vector<Target>;

/// "table a.t, table a.u"; for logs.
[[nodiscard]] std::string display(std::span<const Target> targets);

/// A request that says what it is about: everything that it reads or changes, at least one.
/// Each type of request has its own targets(), beside it; without one it cannot be authorized.
template <class T>
concept NamesTargets = requires(const T& request) {
  { targets(request) } -> std::same_as<Targets>;
};

/// Why a request was allowed.
enum class Ground : std::uint8_t {
  kPublic,     ///< The route is open to everybody.
  kSuperuser,  ///< The caller may do everything.
  kScope,      ///< Scopes of the caller open each target.
};
[[nodiscard]] std::string_view to_string(Ground ground);

/// What policy says to a request.
struct Decision {
  Ground ground;
};

/// Who asks for what.
struct Caller {
  const auth::Principal* principal;  ///< Outlives the question.
  Permission permission;
};

/// May the caller do that to each of the targets? A task, since what a principal may do can
/// stand in the database. Whoever has not the right to all of them has it to none.
/// Errors: kForbidden  it may not, or nothing is named: its detail says what was.
[[nodiscard]] base::Task<base::Result<Decision>> decide(base::RequestContext context, Caller caller,
                                                        std::span<const Target> targets);

/// A request that policy has allowed, with the decision and with whom it was made for.
/// Never changes; copies share it.
template <NamesTargets T>
class Authorized {
 public:
  [[nodiscard]] const T& operator*() const { return held_->request; }
  [[nodiscard]] const T* operator->() const { return &held_->request; }
  [[nodiscard]] const auth::Principal& principal() const { return held_->principal; }
  [[nodiscard]] const Decision& decision() const { return held_->decision; }
  /// The name that the client gave the change, for the transaction that makes it.
  [[nodiscard]] const std::optional<model::IdempotencyKey>& key() const { return held_->key; }

  /// Another request about the same things, under the same decision: a change is answered with
  /// what it has made, and one change can need another. That one is not what the client named, so
  /// it has no key(). Aborts where `request` has a target that this one has not.
  template <NamesTargets U>
  [[nodiscard]] Authorized<U> part(U request) const {
    const Targets allowed = targets(held_->request);
    for (const Target& target : targets(request)) {
      if (std::ranges::find(allowed, target) == allowed.end()) std::abort();
    }
    return Authorized<U>({held_->principal, held_->decision, std::nullopt, std::move(request)});
  }

 private:
  struct Held {
    auth::Principal principal;
    Decision decision;
    std::optional<model::IdempotencyKey> key;
    T request;
  };
  explicit Authorized(Held held) : held_(std::make_shared<const Held>(std::move(held))) {}

  template <NamesTargets U>
  friend class Authorized;
  template <NamesTargets U>
  friend base::Task<base::Result<Authorized<U>>> authorize(
      base::RequestContext context, Caller caller, U request,
      std::optional<model::IdempotencyKey> key);

  std::shared_ptr<const Held> held_;
};

/// Whether a list of namespaces shows that one to the principal.
[[nodiscard]] bool may_see(const auth::Principal& principal, const model::Namespace& name);

/// Whether it may read what is in the namespace.
[[nodiscard]] bool may_read(const auth::Principal& principal, const model::Namespace& name);

/// Whether it may also change a namespace that was found on the way, beside those that the request
/// has named; nothing: one whose name nobody knows, so that only who may write them all may.
[[nodiscard]] bool may_write(const auth::Principal& principal,
                             const std::optional<model::Namespace>& name);

/// Whether the principal may know of a catalog that belongs to `account`;
/// nothing: to nobody in particular.
/// Source: specification, section 5.6.
[[nodiscard]] inline bool may_reach(const auth::Principal& principal,
                                    const std::optional<std::string>& account) {
  return !account || principal.superuser || principal.account == account;
}

/// Errors: those of decide().
template <NamesTargets T>
[[nodiscard]] base::Task<base::Result<Authorized<T>>> authorize(
    base::RequestContext context, Caller caller, T request,
    std::optional<model::IdempotencyKey> key) {
  const Targets named = targets(request);
  CO_ASSIGN_OR_RETURN(Decision decision, co_await decide(context, caller, named));
  co_return Authorized<T>({*caller.principal, decision, std::move(key), std::move(request)});
}

}  // namespace lake::policy
