#include "lakeproxy/http/pipeline.h"

#include <fmt/format.h>

#include <boost/algorithm/string/predicate.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "base/json/json.h"
#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/http/route_table.h"

namespace lake::http {
namespace {

using base::http::Response;

// A stage lets the call pass, or answers it.
using Check = std::optional<Response> (*)(Call&);
using Passed = base::Task<base::Status>;

std::optional<Response> find_route(Call& call) {
  Match found = match(call.request->method, call.request->path());
  if (found.route == nullptr) {
    if (found.allow.empty()) return refusal(404, "No such path.");
    Response response = refusal(405, "The path does not have that method.");
    response.headers.add("Allow", found.allow);
    return response;
  }
  call.route = found.route;
  call.parameters = std::move(found.parameters);
  return std::nullopt;
}

// "application/json; charset=utf-8" and "Application/JSON" are JSON, "application/jsonp" is not.
bool is_of(std::string_view type, std::string_view wanted) {
  type = type.substr(0, type.find(';'));
  type = type.substr(0, type.find_last_not_of(" \t") + 1);
  return boost::algorithm::iequals(type, wanted);
}

std::optional<Response> check_body(Call& call) {
  const BodyForm& form = call.route->body;
  if (call.request->body.size() > form.limit()) return refusal(413, "body: too large");
  if (call.request->body.empty() || form.media_type().empty()) return std::nullopt;
  auto type = call.request->headers.get("Content-Type");
  if (!type || is_of(*type, form.media_type())) return std::nullopt;
  return refusal(415, fmt::format("Content-Type: must be {}", form.media_type()));
}

// For whoever looks for attacks; a request without a token is none.
void note_refused_token(const base::RequestContext& context, Call& call, const base::Error& error) {
  if (error.kind() != base::ErrorKind::kUnauthenticated || error.reason() == auth::kNoToken) return;
  call.services->home->log->for_request(context.request_id)
      .warning("token refused", {{"reason", error.reason()}, {"peer", call.request->peer}});
  call.refused = audit::AuditRecord{.operation = "token_refused", .decision = "denied"};
  call.refused->object = error.reason();
}

Passed authenticate(base::RequestContext context, Call* call) {
  // A client that asks for a token shows other things in the same field.
  if (call->route->permission == policy::Permission::kPublic) co_return base::Status{};
  auto principal = co_await call->services->authenticate(context, &call->request->headers);
  if (principal) {
    call->principal = std::move(*principal);
  } else if (!policy::is_open(call->route->permission)) {
    note_refused_token(context, *call, principal.error());
    co_return std::move(principal).error();
  }
  // Of what is open to everybody a stranger may ask, too, and one that cannot be told now.
  co_return base::Status{};
}

// One that asks too often must not take the server from the others. Nobody has a name on an open
// server, so there it is the address.
std::optional<Response> check_rate(Call& call) {
  auth::RateLimits* limits = call.services->requests;
  if (limits == nullptr || policy::is_open(call.route->permission)) return std::nullopt;
  const auth::Principal& who = call.principal;
  const std::string name = who.issuer.empty()
                               ? auth::peer_network(call.request->peer)
                               : fmt::format("{}\n{}\n{}", who.issuer, who.subject, who.actor);
  const auto wait = limits->take(name, std::chrono::steady_clock::now());
  if (!wait) return std::nullopt;
  return too_many(*wait, "Too many requests.");
}

std::optional<Response> check_opened(Call& call) {
  bool service = !call.route->path.starts_with("/v1/");
  if (service || call.services->opened()) return std::nullopt;
  return refusal(503, "The lake is not open yet.");
}

// A catalog that is not at hand is looked up.
Passed find_catalog(base::RequestContext context, Call* call) {
  call->of_path = call->services->home;
  auto prefix = call->parameters.find("prefix");
  if (prefix == call->parameters.end()) co_return base::Status{};
  CO_ASSIGN_OR_RETURN(call->of_path, co_await reach_catalog(context, call->services,
                                                            call->principal, prefix->second));
  co_return base::Status{};
}

std::optional<Response> name_change(Call& call) {
  auto key = idempotency_key_of(call);
  if (!key) return error_response(key.error(), call.route->effect, "");
  call.key = std::move(*key);
  return std::nullopt;
}

// One that answers by itself, or one that may have to wait and can only fail.
struct Stage {
  Check check = nullptr;
  Passed (*wait)(base::RequestContext, Call*) = nullptr;
};

// The order is the design:
constexpr Stage kStages[] = {
    {.check = find_route},    // nothing else is known before the route is
    {.check = check_body},    // cheap, and independent of who asks
    {.wait = authenticate},   // who it is, before anything is said about what exists
    {.check = check_rate},    // of whom it is, before anything that costs
    {.check = check_opened},  // without a lake no name can be looked up
    {.check = name_change},   // the hash of a change is bound to who asks for it
    {.wait = find_catalog},   // whose it is is asked before its lake is opened
    // then the route's endpoint (endpoint.h): what is asked for, policy, then the act. A change
    // that was made already is told, not made again, once policy has allowed it
};

}  // namespace

/// What became of the commits of one route. Those that are only told again under
/// their Idempotency-Key are not among them.
class CommitOutcomes {
 public:
  CommitOutcomes(base::metrics::Registry& registry, std::string_view operation)
      : committed_(counter(registry, operation, "committed")),
        conflict_(counter(registry, operation, "conflict")),
        refused_(counter(registry, operation, "refused")),
        unavailable_(counter(registry, operation, "unavailable")),
        unknown_(counter(registry, operation, "unknown")),
        failed_(counter(registry, operation, "failed")) {}

  /// Nothing: it was made.
  void count(std::optional<base::ErrorKind> error) const { of(error).add(); }

 private:
  static base::metrics::Counter counter(base::metrics::Registry& registry,
                                        std::string_view operation, const char* outcome) {
    return registry.counter("lakeproxy_commits_total", "Commits by what became of them.",
                            {{"operation", std::string(operation)}, {"outcome", outcome}});
  }
  [[nodiscard]] const base::metrics::Counter& of(std::optional<base::ErrorKind> error) const;

  base::metrics::Counter committed_, conflict_, refused_, unavailable_, unknown_, failed_;
};

const base::metrics::Counter& CommitOutcomes::of(std::optional<base::ErrorKind> error) const {
  using base::ErrorKind;
  if (!error) return committed_;
  switch (*error) {
    case ErrorKind::kConflict:
    case ErrorKind::kAlreadyExists: return conflict_;
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled: return unavailable_;
    case ErrorKind::kOutcomeUnknown: return unknown_;
    case ErrorKind::kCorrupt:
    case ErrorKind::kInternal: return failed_;
    default: return refused_;
  }
}

namespace {

// Series of one route, resolved once.
struct RouteMetrics {
  base::metrics::Histogram seconds;
  std::array<base::metrics::Counter, 5> by_class;  ///< 1xx to 5xx.
  std::optional<CommitOutcomes> outcomes;          ///< Of a route that commits.
  base::metrics::Counter plain_bytes, gzip_bytes;  ///< Of the answers' bodies, as they are sent.
};

using AllMetrics = std::map<const Route*, RouteMetrics>;

RouteMetrics make_metrics(base::metrics::Registry& registry, const Route& route) {
  auto counter = [&](const char* status) {
    return registry.counter("lakeproxy_http_requests_total", "Requests by route and status class.",
                            {{"operation", std::string(route.operation)}, {"status", status}});
  };
  auto bytes = [&](const char* encoding) {
    return registry.counter("lakeproxy_http_response_bytes_total",
                            "Bytes of answers by route and content coding.",
                            {{"operation", std::string(route.operation)}, {"encoding", encoding}});
  };
  return {registry.histogram("lakeproxy_http_request_seconds", "Time to answer a request.",
                             {{"operation", std::string(route.operation)}}),
          {counter("1xx"), counter("2xx"), counter("3xx"), counter("4xx"), counter("5xx")},
          route.effect == Effect::kCommit ? std::optional(CommitOutcomes(registry, route.operation))
                                          : std::nullopt,
          bytes("identity"),
          bytes("gzip")};
}

void log_failure(const Call& call, const base::RequestContext& context, const base::Error& error,
                 std::span<const policy::Target> about, unsigned status) {
  auto log = call.services->home->log->for_request(context.request_id);
  std::string message = shown_message(error.message());
  std::string targets = shown_message(policy::display(about));
  base::log::Fields fields = {{"operation", call.route->operation},
                              {"status", status},
                              {"kind", to_string(error.kind())},
                              {"error", message},
                              {"targets", targets},
                              {"detail", error.detail()},
                              {"principal", call.principal.subject},
                              {"actor", call.principal.actor}};
  if (status >= 500) {
    log.error("request failed", fields);
  } else {
    log.info("request refused", fields);
  }
}

// What the caller may not do; whose name it is stands in what it asked for.
void note_forbidden(Call& call, const base::Error& error, std::span<const policy::Target> about) {
  const std::string object = about.empty() ? error.detail() : policy::display(about);
  call.refused =
      audit::record_of(call.principal, std::string(call.route->operation), object, "denied");
}

Response fail(const base::RequestContext& context, Call& call, const base::Error& error,
              std::span<const policy::Target> about = {}) {
  Response response = error_response(error, call.route->effect, context.id_text());
  if (response.status == 403) note_forbidden(call, error, about);
  log_failure(call, context, error, about, response.status);
  return response;
}

// Nothing: the call has passed.
base::Task<std::optional<Response>> pass_stages(base::RequestContext context, Call* call) {
  for (const Stage& stage : kStages) {
    if (stage.check != nullptr) {
      if (auto response = stage.check(*call)) co_return response;
    } else if (auto passed = co_await stage.wait(context, call); !passed) {
      co_return fail(context, *call, passed.error());
    }
  }
  co_return std::nullopt;
}

base::Task<Response> answer(base::RequestContext context, Call* call, const AllMetrics* metrics) {
  if (auto response = co_await pass_stages(context, call)) co_return std::move(*response);
  if (call->route->effect == Effect::kCommit) call->outcomes = &*metrics->at(call->route).outcomes;
  co_return co_await call->route->endpoint.run(context, call);
}

// Nobody waits for it: by the time that it takes, nothing is to be learned.
void audit_refusal(const base::RequestContext& context, Call& call) {
  if (!call.refused) return;
  operation::Catalog* catalog = call.of_path ? call.of_path.get() : call.services->home.get();
  if (catalog->audit == nullptr) return;
  call.refused->detail = base::json::write(base::json::Object{{"peer", call.request->peer}});
  catalog->audit->write_summed(context, std::move(*call.refused));
}

base::Task<Response> handle(base::RequestContext context, base::http::Request request,
                            Services* services, std::shared_ptr<const AllMetrics> metrics) {
  auto begin = std::chrono::steady_clock::now();
  Call call;
  call.request = &request;
  call.services = services;
  Response response = co_await answer(context, &call, metrics.get());
  audit_refusal(context, call);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (auto found = metrics->find(call.route); found != metrics->end()) {
    found->second.seconds.observe(elapsed.count());
    found->second.by_class[std::min(response.status / 100, 5U) - 1].add();
    const RouteMetrics& of_route = found->second;
    (response.headers.get("Content-Encoding") ? of_route.gzip_bytes : of_route.plain_bytes)
        .add(response.body.size());
  }
  services->home->log->for_request(context.request_id)
      .debug("request", {{"operation", call.route != nullptr ? call.route->operation : "none"},
                         {"status", response.status},
                         {"decision", call.decision ? to_string(call.decision->ground) : "none"},
                         {"principal", call.principal.subject},
                         {"actor", call.principal.actor},
                         {"ms", elapsed.count() * 1000}});
  co_return response;
}

}  // namespace

namespace detail {

Response settled(const base::RequestContext& context, Call& call, base::Result<Response> result,
                 std::span<const policy::Target> about) {
  if (call.outcomes != nullptr) {
    call.outcomes->count(result ? std::nullopt : std::optional(result.error().kind()));
  }
  return result ? std::move(*result) : fail(context, call, result.error(), about);
}

policy::Caller caller_of(const Call& call) { return {&call.principal, call.route->permission}; }

void note_decision(Call& call, const policy::Decision& decision) { call.decision = decision; }

const std::optional<model::IdempotencyKey>& key_of(const Call& call) { return call.key; }

}  // namespace detail

base::Task<base::Result<std::shared_ptr<operation::Catalog>>> reach_catalog(
    base::RequestContext context, Services* services, auth::Principal principal, std::string id) {
  if (id == services->home->lake.catalog) co_return services->home;
  auto attached = services->attached(id);
  if (attached && policy::may_reach(principal, attached->account_id)) co_return attached;
  CO_ASSIGN_OR_RETURN(auto registered, co_await services->find_registered(context, id));
  if (!policy::may_reach(principal, registered.account_id)) co_return ducklake::no_such_catalog(id);
  co_return co_await services->attach(context, std::move(registered));
}

base::http::Handler make_handler(Services& services, base::metrics::Registry& metrics) {
  auto all = std::make_shared<AllMetrics>();
  for (const Route& route : route_table()) all->emplace(&route, make_metrics(metrics, route));
  std::shared_ptr<const AllMetrics> shared = std::move(all);
  return [&services, shared](base::RequestContext context, base::http::Request request) {
    return handle(context, std::move(request), &services, shared);
  };
}

base::http::Refusal make_refusal() {
  return [](unsigned status, std::string_view message) { return refusal(status, message); };
}

}  // namespace lake::http
