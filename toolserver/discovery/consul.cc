#include "toolserver/discovery/consul.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "base/json/fields.h"
#include "toolserver/settings/endpoint.h"

namespace tool::discovery {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;
using base::http::Method;

constexpr std::chrono::seconds kLongestWait{300};
constexpr std::string_view kHidden =
    "the registry hides instances from us: the token in cluster.discovery_config.token needs "
    "service:read for the service and node:read for the machines";
constexpr std::string_view kNoToken =
    "the registry shows us nothing without a token: cluster.discovery_config.token is not set";
// The shortest that Consul takes. Then an instance that is gone is forgotten, too.
constexpr std::string_view kForgetAfter = "1m";

base::Result<std::pair<std::string, Way>> read_instance(const json::Value& value, Plain plain) {
  ASSIGN_OR_RETURN(auto entry, json::Fields::of(value, "instance"));
  ASSIGN_OR_RETURN(auto service, entry.object("Service"));
  ASSIGN_OR_RETURN(auto meta, service.object("Meta"));
  ASSIGN_OR_RETURN(auto node_id, meta.string("node_id"));
  ASSIGN_OR_RETURN(auto endpoint, meta.opt_string("endpoint"));
  if (endpoint) return std::pair(std::move(node_id), Way{std::move(*endpoint), {}});
  ASSIGN_OR_RETURN(auto port, service.int64("Port"));
  ASSIGN_OR_RETURN(auto address, service.opt_string("Address"));
  if (!address || address->empty()) {
    ASSIGN_OR_RETURN(auto node, entry.object("Node"));
    ASSIGN_OR_RETURN(address, node.opt_string("Address"));
  }
  if (!address || port < 1 || port > 65'535) {
    return fail(ErrorKind::kInvalid, "it has neither an endpoint nor an address and a port");
  }
  auto way = way_to(*address, static_cast<std::uint16_t>(port), {}, plain);
  if (!way) return fail(ErrorKind::kInvalid, "not an address that may be called");
  return std::pair(std::move(node_id), std::move(*way));
}

std::string id_of(const json::Value& value) {
  const auto* entry = value.if_object();
  const auto* service = entry == nullptr ? nullptr : entry->if_contains("Service");
  const auto* fields = service == nullptr ? nullptr : service->if_object();
  const auto* id = fields == nullptr ? nullptr : fields->if_contains("ID");
  return id != nullptr && id->is_string() ? std::string(id->get_string()) : "an instance";
}

// 0 would not wait. Source: "Blocking queries", implementation details.
std::uint64_t index_of(const base::http::Headers& headers) {
  auto text = headers.get("X-Consul-Index");
  auto value = text ? base::parse_int64(*text) : std::nullopt;
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

// Consul waits for up to a sixteenth longer than it is asked to, and for a second at least.
std::chrono::seconds wait_within(std::chrono::milliseconds longest) {
  auto wait = std::chrono::duration_cast<std::chrono::seconds>(longest - longest / 16);
  return std::clamp(wait, std::chrono::seconds(1), kLongestWait);
}

}  // namespace

base::Result<Found> read_consul(const json::Value& answer, Plain plain) {
  if (!answer.is_array()) return fail(ErrorKind::kInvalid, "the answer is not a list of instances");
  Found out;
  for (const auto& value : answer.get_array()) {
    auto read = read_instance(value, plain);
    if (read) {
      out.add(read->first, std::move(read->second), plain);
    } else {
      out.leave_out(id_of(value), read.error().message());
    }
  }
  return out;
}

base::Result<Found> read_consul(const RegistryClient::Answer& answer, Plain plain) {
  ASSIGN_OR_RETURN(auto found, read_consul(answer.body, plain));
  auto hidden = answer.headers.get("X-Consul-Results-Filtered-By-ACLs");
  if (!hidden || *hidden != "true") return found;
  // Refused in all but its status: what it shows is no cluster without nodes.
  if (answer.body.get_array().empty()) return fail(ErrorKind::kForbidden, std::string(kHidden));
  found.partial = kHidden;
  return found;
}

RegistryClient::Call Consul::call(Method method, std::string target) const {
  RegistryClient::Call out{
      .method = method, .target = std::move(target), .headers = {}, .body = {}};
  if (!options_.token.empty()) out.headers.add("X-Consul-Token", options_.token.reveal());
  return out;
}

// An answer that waited for a change says nothing of what was hidden: the agent reads it
// from a stream, which is filtered before. So it is a bell alone, whatever it holds, and
// the list is read by a question that does not wait. That gives a new index, too: one
// that went back, as it belongs to another history, is asked from once at most.
base::Task<base::Result<Found>> Consul::next(base::RequestContext context,
                                             std::chrono::milliseconds longest) {
  std::string service = base::percent_encode(options_.service, base::Slash::kEncode);
  std::string target = fmt::format("/v1/health/service/{}?passing=true", service);
  if (auto index = std::exchange(index_, 0); index > 0) {
    auto waits = fmt::format("{}&index={}&wait={}s", target, index, wait_within(longest).count());
    auto rung = co_await client_->send(context, call(Method::kGet, std::move(waits)));
    if (!rung) co_return std::move(rung).error();
  }
  CO_ASSIGN_OR_RETURN(auto answer, co_await client_->send(context, call(Method::kGet, target)));
  CO_ASSIGN_OR_RETURN(auto found, read_consul(answer, options_.plain));
  if (found.nodes.empty() && options_.token.empty()) {
    CO_RETURN_IF_ERROR(co_await check_anonymous(context, service));
  }
  index_ = index_of(answer.headers);
  co_return found;
}

// To who has no token Consul does not say that it hid something, but this question it
// refuses to who may not read the service. Source: "Health", list service instances for mesh.
base::Task<base::Status> Consul::check_anonymous(base::RequestContext context,
                                                 std::string service) {
  auto answer =
      co_await client_->send(context, call(Method::kGet, "/v1/health/connect/" + service));
  if (answer) co_return base::Status();
  if (answer.error().kind() != ErrorKind::kForbidden) co_return std::move(answer).error();
  co_return fail(ErrorKind::kForbidden, std::string(kNoToken));
}

std::string Consul::instance() const { return "scp-" + options_.self->node_id; }

base::Task<base::Status> Consul::enroll(base::RequestContext context) {
  const Self& self = *options_.self;
  auto endpoint = settings::parse_endpoint(self.endpoint);
  if (!endpoint || !endpoint->port) {
    co_return fail(ErrorKind::kInvalid, "what is announced must have a host and a port");
  }
  auto enrolment = call(Method::kPut, "/v1/agent/service/register?replace-existing-checks=true");
  enrolment.body = {{"ID", instance()},
                    {"Name", options_.service},
                    {"Address", endpoint->host},
                    {"Port", *endpoint->port},
                    {"Meta", {{"node_id", self.node_id}, {"endpoint", self.endpoint}}},
                    {"Check",
                     {{"TTL", fmt::format("{}s", self.lifetime.count())},
                      {"DeregisterCriticalServiceAfter", kForgetAfter}}}};
  auto done = co_await client_->send(context, std::move(enrolment));
  if (!done) co_return std::move(done).error();
  co_return base::Status();
}

base::Task<base::Status> Consul::renew(base::RequestContext context) {
  // An agent that was set up anew does not know us, which it says by its status.
  for (bool again = enrolled_;; again = false) {
    if (!again) CO_RETURN_IF_ERROR(co_await enroll(context));
    enrolled_ = true;
    auto passed = co_await client_->send(
        context, call(Method::kPut, "/v1/agent/check/pass/service:" + instance()));
    if (passed) co_return base::Status();
    enrolled_ = false;
    if (!again) co_return std::move(passed).error();
  }
}

base::Task<base::Status> Consul::withdraw(base::RequestContext context) {
  auto gone = co_await client_->send(
      context, call(Method::kPut, "/v1/agent/service/deregister/" + instance()));
  if (!gone && gone.error().kind() != ErrorKind::kNotFound) co_return std::move(gone).error();
  co_return base::Status();
}

}  // namespace tool::discovery
