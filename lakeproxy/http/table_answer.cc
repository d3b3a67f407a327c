#include "lakeproxy/http/table_answer.h"

#include <fmt/format.h>

#include "base/http/accept_encoding.h"
#include "lakeproxy/http/wire.h"
#include "lakeproxy/to_iceberg/publish/table_at.h"

namespace lake::http {
namespace {

using Snapshots = model::SnapshotSelection;

// Packing a shorter answer saves nothing that the network would notice.
constexpr std::size_t kLeastPacked = 1024;

// The forms of one table are so many representations. Each is there with and without
// gzip, equal in content and not in bytes, which is what a weak tag says. Clients give it
// back as they got it, whatever coding they name then.
std::string etag_of(const publish::LoadedTable& loaded, const publish::ClientConfig& config,
                    Snapshots snapshots, std::optional<model::SnapshotId> at = std::nullopt) {
  return fmt::format("W/\"{}-{}{}{}\"", loaded.etag, config.tag,
                     at ? fmt::format("-at-{}", at->value) : "",
                     snapshots == Snapshots::kRefs ? "-refs" : "");
}

// How the caller reaches the store; the same for all as long as nobody can be told apart.
const publish::ClientConfig& config_for(const Call& call) { return *call.catalog()->client_config; }

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

// What all share, and the end that is made for this caller.
base::http::Body plain_body(model::JsonText beginning, const publish::ClientConfig& config) {
  base::http::Body body(std::move(beginning));
  body.append(config.text);
  return body;
}

base::http::Body packed_body(const publish::PackedText& packed,
                             const publish::ClientConfig& config) {
  base::http::Body body(base::http::Body::Buffer(packed, &packed->bytes));
  body.append(std::make_shared<const std::string>(config.packed.after(*packed)));
  return body;
}

base::http::Response body_response(base::http::Body body, bool is_gzip, std::string etag) {
  auto response = json_response(200, std::move(body));
  response.headers.reserve(response.headers.fields().size() + 3);
  response.headers.add("ETag", std::move(etag));
  response.headers.add("Vary", "Accept-Encoding");
  if (is_gzip) response.headers.add("Content-Encoding", "gzip");
  return response;
}

// Nothing: the client takes gzip, and nobody has packed this form yet.
std::optional<base::http::Response> ready_response(const Call& call,
                                                   const publish::LoadedTable& loaded,
                                                   Snapshots snapshots, std::string etag) {
  const auto accepted = base::http::accepted_codings(call.request->headers);
  const model::JsonText& plain = loaded.body_of(snapshots);
  if (!accepted.gzip || (plain->size() < kLeastPacked && accepted.identity)) {
    return body_response(plain_body(plain, config_for(call)), false, std::move(etag));
  }
  auto packed = loaded.packed_of(snapshots).get();
  if (!packed) return std::nullopt;
  return body_response(packed_body(packed, config_for(call)), true, std::move(etag));
}

}  // namespace

base::Result<Snapshots> snapshots_of(const Call& call) {
  auto text = call.request->query("snapshots");
  if (!text || *text == "all") return Snapshots::kAll;
  if (*text == "refs") return Snapshots::kRefs;
  return base::fail(base::ErrorKind::kInvalid, "snapshots: must be all or refs");
}

std::optional<base::http::Response> ready_answer(const Call& call,
                                                 const publish::LoadedTable& loaded,
                                                 Snapshots snapshots) {
  std::string etag = etag_of(loaded, config_for(call), snapshots);
  if (matches(*call.request, etag)) return not_modified(std::move(etag));
  return ready_response(call, loaded, snapshots, std::move(etag));
}

ActionResult packed_answer(RequestContext context, Call* call, model::TableIdentifier identifier,
                           publish::LoadedTablePtr loaded, Snapshots snapshots) {
  auto packed = co_await call->catalog()->loaded_tables->packed(context, std::move(identifier),
                                                                loaded, snapshots);
  const publish::ClientConfig& config = config_for(*call);
  std::string etag = etag_of(*loaded, config, snapshots);
  // What was done is done: without the packed bytes it is told with plain ones.
  if (!packed) {
    co_return body_response(plain_body(loaded->body_of(snapshots), config), false, std::move(etag));
  }
  co_return body_response(packed_body(*packed, config), true, std::move(etag));
}

ActionResult view_response(RequestContext context, Call* call, model::TableIdentifier identifier,
                           publish::LoadedTablePtr loaded) {
  auto ready = ready_response(*call, *loaded, Snapshots::kAll,
                              etag_of(*loaded, config_for(*call), Snapshots::kAll));
  if (ready) co_return std::move(*ready);
  co_return co_await packed_answer(context, call, std::move(identifier), std::move(loaded),
                                   Snapshots::kAll);
}

base::http::Response answer_load_at(const Call& call, const operation::TableAt& table,
                                    Snapshots snapshots) {
  const publish::ClientConfig& config = config_for(call);
  std::string etag = etag_of(*table.loaded, config, snapshots, table.snapshot_id);
  if (matches(*call.request, etag)) return not_modified(std::move(etag));
  auto body = std::make_shared<const std::string>(
      publish::body_at(*table.loaded, table.snapshot_id, snapshots));
  auto response = json_response(200, plain_body(std::move(body), config));
  response.headers.add("ETag", std::move(etag));
  return response;
}

ActionResult tell_table(RequestContext context, Call* call,
                        Authorized<operation::LoadTable> request) {
  CO_ASSIGN_OR_RETURN(auto loaded,
                      co_await operation::load_table(context, call->catalog(), request));
  co_return co_await view_response(context, call, request->identifier, std::move(loaded));
}

}  // namespace lake::http
