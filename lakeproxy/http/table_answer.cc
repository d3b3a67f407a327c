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

base::http::Response not_modified(std::string etag) {
  base::http::Response response;
  response.status = 304;
  response.headers.add("ETag", std::move(etag));
  response.headers.add("Vary", "Accept-Encoding");
  return response;
}

base::http::Response text_response(operation::AnswerText text, bool is_gzip, std::string etag) {
  auto response = json_response(200, body_of(std::move(text)));
  response.headers.reserve(response.headers.fields().size() + 3);
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
    return text_response(std::move(*packed), true, std::move(etag));
  }
  return text_response(std::move(plain), false, std::move(etag));
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

std::optional<base::http::Response> ready_answer(const Call& call,
                                                 const operation::ShownTable& table,
                                                 Snapshots snapshots) {
  std::string etag = etag_of(table, snapshots);
  if (matches(*call.request, etag)) return not_modified(std::move(etag));
  return ready_response(call, table, snapshots, std::move(etag));
}

ActionResult packed_answer(RequestContext context, Call* call, model::TableIdentifier identifier,
                           operation::ShownTable table, Snapshots snapshots) {
  auto packed = co_await table.pack(context, call->catalog(), std::move(identifier), snapshots);
  std::string etag = etag_of(table, snapshots);
  // What was done is done: without the packed bytes it is told with plain ones.
  if (!packed) co_return text_response(table.text(snapshots), false, std::move(etag));
  co_return text_response(std::move(*packed), true, std::move(etag));
}

ActionResult view_response(RequestContext context, Call* call, model::TableIdentifier identifier,
                           operation::ShownTable table) {
  auto ready = ready_response(*call, table, Snapshots::kAll, etag_of(table, Snapshots::kAll));
  if (ready) co_return std::move(*ready);
  co_return co_await packed_answer(context, call, std::move(identifier), std::move(table),
                                   Snapshots::kAll);
}

base::http::Response answer_load_at(const Call& call, const operation::TableAt& at,
                                    Snapshots snapshots) {
  std::string etag = etag_of(at.table, snapshots, at.snapshot_id);
  if (matches(*call.request, etag)) return not_modified(std::move(etag));
  auto response = json_response(200, body_of(at.table.text_at(at.snapshot_id, snapshots)));
  response.headers.add("ETag", std::move(etag));
  return response;
}

ActionResult tell_table(RequestContext context, Call* call,
                        Authorized<operation::LoadTable> request) {
  CO_ASSIGN_OR_RETURN(auto table,
                      co_await operation::load_table(context, call->catalog(), request));
  co_return co_await view_response(context, call, request->identifier, std::move(table));
}

}  // namespace lake::http
