#pragma once

// What a route is: a method, a path, the permission it asks for and the endpoint
// that answers it. The table of all routes is route_table.cc.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/message.h"
#include "base/metrics/registry.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/audit/audit_chain.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/auth/rate_limits.h"
#include "lakeproxy/auth/token_grants.h"
#include "lakeproxy/delegation/remote_signer.h"
#include "lakeproxy/ducklake/registry/catalog_registry.h"
#include "lakeproxy/http/endpoint.h"
#include "lakeproxy/http/error_response.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::operation {
struct DirectReading;
}
namespace lake::console {
class ConsoleFiles;
}

namespace lake::http {

/// What the routes of one event loop reach.
struct Services {
  /// Who sends a request with these headers, which outlive the task. Errors: kUnauthenticated;
  /// kUnavailable  nobody can tell now.
  std::function<base::Task<base::Result<auth::Principal>>(base::RequestContext,
                                                          const base::http::Headers*)>
      authenticate;
  auth::TokenGrants* tokens = nullptr;       ///< Null on an open server.
  auth::VerifyToken verify_token;            ///< Of a subject for whom somebody acts.
  auth::GuessLimits* guesses = nullptr;      ///< Of secrets; null where `tokens` is.
  auth::RateLimits* requests = nullptr;      ///< Of principals; null: any number.
  std::shared_ptr<operation::Catalog> home;  ///< The default catalog.
  /// A registered catalog that is attached; null where it is not.
  std::function<std::shared_ptr<operation::Catalog>(const std::string& id)> attached;
  /// What PostgreSQL has of a registered catalog. Errors: kNotFound (kNoSuchCatalog).
  std::function<base::Task<base::Result<model::RegisteredCatalog>>(base::RequestContext,
                                                                   std::string id)>
      find_registered;
  /// Attaches a registered catalog, and opens its lake if need be. Errors: those of open_lake.
  std::function<base::Task<base::Result<std::shared_ptr<operation::Catalog>>>(
      base::RequestContext, model::RegisteredCatalog)>
      attach;
  ducklake::CatalogRegistry* registry = nullptr;
  delegation::RemoteSigner* signer = nullptr;
  const operation::DirectReading* direct = nullptr;
  const console::ConsoleFiles* console = nullptr;  ///< Null where the console is off.
  const base::metrics::Registry* metrics = nullptr;
  /// Whether the database answers, for /readyz.
  std::function<base::Task<base::Status>(base::RequestContext)> ready;
  /// Whether the lake has been opened; requests before that are 503.
  std::function<bool()> opened;
};

/// What a route takes as its request's body, and how much of it. What comes in over the wire is
/// bounded before (base::http::ServerLimits); this is the route's own bound.
class BodyForm {
 public:
  /// Nothing is read of it. What clients send all the same, "{}" mostly, is passed over.
  [[nodiscard]] static consteval BodyForm none() { return {"", 1024}; }
  /// A JSON object of names and settings.
  [[nodiscard]] static consteval BodyForm json() { return {"application/json", 1 << 20}; }
  /// One that may describe a table or its files: the server's own bound holds.
  [[nodiscard]] static consteval BodyForm large_json() { return {"application/json", SIZE_MAX}; }
  /// Fields of a form, as OAuth has them.
  [[nodiscard]] static consteval BodyForm form() {
    return {"application/x-www-form-urlencoded", 16 << 10};
  }

  /// As Content-Type names it; empty for none.
  [[nodiscard]] std::string_view media_type() const { return media_type_; }
  [[nodiscard]] std::size_t limit() const { return limit_; }

 private:
  consteval BodyForm(std::string_view media_type, std::size_t limit)
      : media_type_(media_type), limit_(limit) {}

  std::string_view media_type_;
  std::size_t limit_;
};

struct Route;
class CommitOutcomes;

/// Decoded path parts by their names in the route's path.
using PathParameters = std::map<std::string, std::string, std::less<>>;

/// One request on its way through the stages.
struct Call {
  const base::http::Request* request = nullptr;
  const Route* route = nullptr;
  PathParameters parameters;
  auth::Principal principal;
  std::optional<policy::Decision> decision;  ///< Nothing before policy has allowed it.
  std::optional<model::IdempotencyKey> key;  ///< The Idempotency-Key of a change; none for reads.
  Services* services = nullptr;
  const CommitOutcomes* outcomes = nullptr;  ///< Null where the route is no commit.
  /// What was refused, for the audit trail; nothing where nobody asked for more than is theirs.
  std::optional<audit::AuditRecord> refused;
  std::shared_ptr<operation::Catalog> of_path;  ///< The catalog of the path's prefix.

  [[nodiscard]] operation::Catalog* catalog() const { return of_path.get(); }
  [[nodiscard]] const std::string& parameter(std::string_view name) const {
    return parameters.find(name)->second;
  }
};

/// No member has a default: a route without a permission, without the form of its body, or without
/// an endpoint that asks policy does not compile.
struct Route {
  base::http::Method method;
  std::string_view path;       ///< "/v1/{prefix}/namespaces/{namespace}"
  std::string_view operation;  ///< As the API description names it.
  policy::Permission permission;
  Effect effect;
  BodyForm body;
  Endpoint endpoint;
};

/// The catalog `id`, if the principal may know of it. Whose it is is asked before
/// its lake is opened, and the same is done for one of another account as for none.
/// Errors: kNotFound  no such catalog, or one of another account, which must
///         look the same; those of Services::attach.
[[nodiscard]] base::Task<base::Result<std::shared_ptr<operation::Catalog>>> reach_catalog(
    base::RequestContext context, Services* services, auth::Principal principal, std::string id);

}  // namespace lake::http
