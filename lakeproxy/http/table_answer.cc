#include "lakeproxy/http/table_answer.h"

#include <fmt/format.h>

#include "base/http/accept_encoding.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

using Snapshots = model::SnapshotSelection;

// Packing a shorter answer saves nothing that the network would notice.
constexpr std::size_t kLeastPacked = 1024;

// Each form of a table is there with and without gzip, equal in content and not in bytes, which
// is what a weak tag says. Clients give it back as they got it, whatever coding they name then.
std::string etag_of(const operation::ShownTable& table, Snapshots snapshots,
                    std::optional<model::SnapshotId> at = std::nullopt) {
  return fmt::format("W/\"{}\"", table.etag(snapshots, at));
}

// Compared without the "W/": RFC 9110, section 8.8.3.2.
bool matches(const base::http::Request& request, std::string_view etag) {
  auto header = request.headers.get("If-None-Match");
  return header &&
         (*header == "*" || header->find(etag.substr(etag.find('"'))) != std::string_view::npos);
}

// Keys are for one caller: no cache on the way may keep them.
void forbid_keeping(const operation::ShownTable& table, base::http::Response& response) {
  if (table.holds_keys()) response.headers.add("Cache-Control", "no-store");
}

base::http::Response not_modified(const operation::ShownTable& table, std::string etag) {
  base::http::Response response;
  response.status = 304;
  forbid_keeping(table, response);
  response.headers.add("ETag", std::move(etag));
  response.headers.add("Vary", "Accept-Encoding");
  return response;
}

base::http::Response text_response(const operation::ShownTable& table, operation::AnswerText text,
                                   bool is_gzip, std::string etag) {
  auto response = json_response(200, body_of(std::move(text)));
  response.headers.reserve(response.headers.fields().size() + 4);
  forbid_keeping(table, response);
  response.headers.add("ETag", std::move(etag));
  response.headers.add("Vary", "Accept-Encoding");
  if (is_gzip) response.headers.add("Content-Encoding", "gzip");
  return response;
}

// Nothing: the client takes gzip, and nobody has packed this form yet.
std::optional<base::http::Response> ready_response(const Call& call,
                                                   const operation::ShownTable& table,
                                                   Snapshots snapshots, std::string etag) {
  const auto accepted = base::http::accepted_codings(call.request->headers);
  operation::AnswerText plain = table.text(snapshots);
  if (accepted.gzip && (plain.beginning->size() >= kLeastPacked || !accepted.identity)) {
    auto packed = table.packed(snapshots);
    if (!packed) return std::nullopt;
    return text_response(table, std::move(*packed), true, std::move(etag));
  }
  return text_response(table, std::move(plain), false, std::move(etag));
}

// As LAKEPROXY_PUBLIC_URL says it, or as this client has reached it.
std::string service_url(const Call& call) {
  const std::string& url = call.catalog()->public_url;
  if (!url.empty()) return url;
  auto host = call.request->headers.get("Host");
  if (!host || host->empty()) return "";
  return (call.request->encrypted ? "https://" : "http://") + std::string(*host);
}

}  // namespace

base::http::Body body_of(operation::AnswerText text) {
  base::http::Body body(std::move(text.beginning));
  body.append(std::move(text.end));
  return body;
}

base::Result<Snapshots> snapshots_of(const Call& call) {
  auto text = call.request->query("snapshots");
  if (!text || *text == "all") return Snapshots::kAll;
  if (*text == "refs") return Snapshots::kRefs;
  return base::fail(base::ErrorKind::kInvalid, "snapshots: must be all or refs");
}

delegation::Asked asked_of(const Call& call) {
  auto asked = delegation::asked_of(call.request->headers.get("X-Iceberg-Access-Delegation"));
  if (!asked.nothing()) asked.signer_url = service_url(call);
  return asked;
}

base::Task<base::Status> delegate(RequestContext context, Call* call,
                                  model::TableIdentifier identifier, operation::ShownTable* table,
                                  delegation::Occasion occasion) {
  const delegation::Asked asked = asked_of(*call);
  delegation::AccessDelegation* delegation = call->catalog()->delegation;
  if (asked.nothing() || delegation == nullptr) co_return base::Status{};
  auto held = delegation->held(*call->catalog(), call->principal, identifier, table->seen(), asked,
                               occasion);
  if (held != nullptr) {
    table->tell(held->config);
    co_return base::Status{};
  }
  CO_ASSIGN_OR_RETURN(auto access, co_await delegation->for_client(
                                       context, call->catalog(), call->principal,
                                       {std::move(identifier), table->seen()}, asked, occasion));
  if (access != nullptr) table->tell(access->config);
  co_return base::Status{};
}

std::optional<base::http::Response> ready_answer(const Call& call,
                                                 const operation::ShownTable& table,
                                                 Snapshots snapshots) {
  std::string etag = etag_of(table, snapshots);
  if (matches(*call.request, etag)) return not_modified(table, std::move(etag));
  return ready_response(call, table, snapshots, std::move(etag));
}

ActionResult packed_answer(RequestContext context, Call* call, model::TableIdentifier identifier,
                           operation::ShownTable table, Snapshots snapshots) {
  auto packed = co_await table.pack(context, call->catalog(), std::move(identifier), snapshots);
  std::string etag = etag_of(table, snapshots);
  // What was done is done: without the packed bytes it is told with plain ones.
  if (!packed) co_return text_response(table, table.text(snapshots), false, std::move(etag));
  co_return text_response(table, std::move(*packed), true, std::move(etag));
}

ActionResult view_response(RequestContext context, Call* call, model::TableIdentifier identifier,
                           operation::ShownTable table) {
  // Refused keys are in the log; the client is told them when it loads the table.
  auto told = co_await delegate(context, call, identifier, &table, delegation::Occasion::kChange);
  static_cast<void>(told);
  auto ready = ready_response(*call, table, Snapshots::kAll, etag_of(table, Snapshots::kAll));
  if (ready) co_return std::move(*ready);
  co_return co_await packed_answer(context, call, std::move(identifier), std::move(table),
                                   Snapshots::kAll);
}

base::http::Response answer_load_at(const Call& call, const operation::TableAt& at,
                                    Snapshots snapshots) {
  std::string etag = etag_of(at.table, snapshots, at.snapshot_id);
  if (matches(*call.request, etag)) return not_modified(at.table, std::move(etag));
  auto response = json_response(200, body_of(at.table.text_at(at.snapshot_id, snapshots)));
  forbid_keeping(at.table, response);
  response.headers.add("ETag", std::move(etag));
  return response;
}

ActionResult tell_table(RequestContext context, Call* call,
                        Authorized<operation::LoadTable> request) {
  CO_ASSIGN_OR_RETURN(auto table,
                      co_await operation::load_table(context, call->catalog(), request));
  CO_RETURN_IF_ERROR(co_await audit_load(context, call, *request, &table.seen()));
  co_return co_await view_response(context, call, request->identifier, std::move(table));
}

}  // namespace lake::http
