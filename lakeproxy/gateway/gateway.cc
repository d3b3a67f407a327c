#include "lakeproxy/gateway/gateway.h"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <utility>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "lakeproxy/delegation/table_rights.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/gateway/aws_chunks.h"
#include "lakeproxy/gateway/relay.h"
#include "lakeproxy/gateway/s3_error.h"

namespace lake::gateway {
namespace {

using base::RequestContext;
using base::Result;
using base::Status;
using base::Task;
using base::http::Body;
using base::http::BodySource;
using base::http::BodyStream;
using base::http::Headers;
using base::http::StreamedRequest;
using base::http::StreamedResponse;
using delegation::S3Action;

constexpr std::size_t kMostRemembered = 4096;
constexpr std::size_t kMostDocument = 2 << 20;  // A thousand keys of 1,024 bytes, and their tags.
constexpr std::uint64_t kMostObject = std::uint64_t{5} << 30;  // S3's own bound of one request.

// What changes an object that may be there already.
bool touches_object(S3Action action) {
  return action == S3Action::kPutObject || action == S3Action::kCreateUpload ||
         action == S3Action::kCompleteUpload || action == S3Action::kDeleteObject ||
         action == S3Action::kDeleteObjects;
}

// What has a body of the client's own.
bool takes_body(S3Action action) {
  return action == S3Action::kPutObject || action == S3Action::kUploadPart ||
         action == S3Action::kCreateUpload || action == S3Action::kCompleteUpload;
}

// The fields that say what the request asks for. Proxies on the way add others; the SDKs for C++
// and Java send two that a store may pass over, and neither is sent on.
Headers own_fields(const Headers& all) {
  Headers own;
  for (const Headers::Field& field : all.fields()) {
    const std::string name = boost::algorithm::to_lower_copy(field.name);
    const bool of_proxy =
        name.starts_with("x-forwarded-") || name == "x-real-ip" || name == "x-request-id";
    const bool idle = name == "x-amz-api-version" || name == "x-amz-te";
    if (!of_proxy && !idle) own.add(field.name, field.value);
  }
  return own;
}

// What says which checksum follows the body: it was checked here, and does not follow any more.
Headers without_trailer_fields(const Headers& fields) {
  Headers kept;
  for (const Headers::Field& field : fields.fields()) {
    if (!field.is("x-amz-sdk-checksum-algorithm")) kept.add(field.name, field.value);
  }
  return kept;
}

Result<std::uint64_t> decoded_length(const Headers& headers) {
  auto text = headers.get("x-amz-decoded-content-length");
  auto length = text ? base::parse_int64(*text) : std::nullopt;
  if (!text) return refuse(s3::kNoLength);
  if (!length || *length < 0) return refuse(s3::kInvalidRequest, "x-amz-decoded-content-length");
  return static_cast<std::uint64_t>(*length);
}

Task<Result<std::string>> read_document(std::shared_ptr<BodySource> source) {
  std::string all;
  std::string piece(64 * 1024, '\0');
  while (source) {
    CO_ASSIGN_OR_RETURN(const std::size_t n, co_await source->read(piece));
    if (n == 0) break;
    if (all.size() + n > kMostDocument) co_return refuse(s3::kTooLarge);
    all.append(piece, 0, n);
  }
  co_return all;
}

// S3's timeouts and broken bodies have codes of their own.
base::Error of_client_body(base::Error error) {
  if (!error.reason().empty()) return error;
  switch (error.kind()) {
    case base::ErrorKind::kTimeout: return refuse(s3::kTimeout);
    case base::ErrorKind::kUnavailable:
    case base::ErrorKind::kInvalid: return refuse(s3::kIncompleteBody, error.message());
    case base::ErrorKind::kTooLarge: return refuse(s3::kTooLarge);
    default: return error;
  }
}

/// Counts what is read, and gives a client's faults the names that S3 has for them.
class ClientBody final : public BodySource {
 public:
  ClientBody(std::shared_ptr<BodySource> source, base::metrics::Counter bytes)
      : source_(std::move(source)), bytes_(bytes) {}
  Task<Result<std::size_t>> read(std::span<char> into) override {
    auto n = co_await source_->read(into);
    if (!n) co_return of_client_body(std::move(n).error());
    bytes_.add(*n);
    co_return n;
  }

 private:
  std::shared_ptr<BodySource> source_;
  base::metrics::Counter bytes_;
};

class CountedBody final : public BodySource {
 public:
  CountedBody(std::shared_ptr<BodySource> source, base::metrics::Counter bytes)
      : source_(std::move(source)), bytes_(bytes) {}
  Task<Result<std::size_t>> read(std::span<char> into) override {
    auto n = co_await source_->read(into);
    if (n) bytes_.add(*n);
    co_return n;
  }

  Task<Result<std::optional<std::size_t>>> splice_into(int pipe, std::size_t most) override {
    auto n = co_await source_->splice_into(pipe, most);
    if (n && *n) bytes_.add(**n);
    co_return n;
  }

 private:
  std::shared_ptr<BodySource> source_;
  base::metrics::Counter bytes_;
};

}  // namespace

GatewayMetrics::GatewayMetrics(base::metrics::Registry& metrics)
    : allowed(metrics.counter("lakeproxy_gateway_requests_total",
                              "Requests to the S3 gateway by what became of them.",
                              {{"outcome", "allowed"}})),
      refused(metrics.counter("lakeproxy_gateway_requests_total",
                              "Requests to the S3 gateway by what became of them.",
                              {{"outcome", "refused"}})),
      failed(metrics.counter("lakeproxy_gateway_requests_total",
                             "Requests to the S3 gateway by what became of them.",
                             {{"outcome", "failed"}})),
      received_bytes(metrics.counter("lakeproxy_gateway_bytes_total",
                                     "Bytes of bodies that went through the S3 gateway.",
                                     {{"direction", "received"}})),
      sent_bytes(metrics.counter("lakeproxy_gateway_bytes_total",
                                 "Bytes of bodies that went through the S3 gateway.",
                                 {{"direction", "sent"}})) {}

/// One request on its way through the stages.
struct Gateway::Call {
  StreamedRequest request;
  Headers fields;
  std::string key_id;
  Grant grant;
  Verified verified;
  BodyStream body;                      ///< Without the coding of chunks.
  std::optional<std::string> document;  ///< Of DeleteObjects.
  delegation::S3Operation operation;
  bool is_read = false;  ///< operation is.
  Opened opened;
};

// The order is the design:
const Gateway::Stage Gateway::kStages[] = {
    &Gateway::check_key,       // nothing of a request is looked at that nobody has signed
    &Gateway::take_body,       // its length and its form, before a byte of it is asked for
    &Gateway::read_operation,  // one reading, or none
    &Gateway::find_rights,     // those of now; the one stage that may ask PostgreSQL for a read
    &Gateway::check_rights,    // by names alone
    &Gateway::check_recorded,  // PostgreSQL is asked about names that are allowed, of changes
                               // then forward(): the request is written anew from what was read
};

Gateway::Gateway(GatewayOptions options, GatewayServices services)
    : options_(std::move(options)),
      services_(std::move(services)),
      signer_(options_.credentials, options_.region),
      store_(base::http::StreamClient::create(store_origin(options_.store), options_.client)) {}

Task<StreamedResponse> Gateway::handle(RequestContext context, StreamedRequest request) {
  Call call{.request = std::move(request)};
  auto answered = co_await answer(context, &call);
  if (answered) {
    services_.metrics->allowed.add();
    if (answered->body.source) {
      answered->body.source = std::make_shared<CountedBody>(std::move(answered->body.source),
                                                            services_.metrics->sent_bytes);
    }
    co_return std::move(*answered);
  }
  note(context, call, answered.error());
  StreamedResponse response{.head = to_response(row_of(answered.error()), context.id_text())};
  co_return response;
}

Task<Result<StreamedResponse>> Gateway::answer(RequestContext context, Call* call) {
  for (Stage stage : kStages) CO_RETURN_IF_ERROR(co_await (this->*stage)(context, call));
  co_return co_await forward(context, call);
}

void Gateway::note(const RequestContext& context, const Call& call,
                   const base::Error& error) const {
  const S3Error& row = row_of(error);
  const bool failed = row.status >= 500;
  (failed ? services_.metrics->failed : services_.metrics->refused).add();
  const std::string path = base::for_terminal(base::shorten(call.request.head.path(), 512));
  auto log = services_.log->for_request(context.request_id);
  const base::log::Fields fields = {
      {"operation", call.is_read ? to_string(call.operation.action) : "unknown"},
      {"code", row.code},
      {"user", call.grant.principal.subject},
      {"method", to_string(call.request.head.method)},
      {"path", path},
      {"peer", call.request.head.peer},
      {"reason", error.reason()},
      {"error", error.message()},
      {"detail", error.detail()}};
  if (failed) {
    log.error("gateway request failed", fields);
  } else {
    log.warning("gateway request refused", fields);
  }
}

Task<Status> Gateway::check_key(RequestContext, Call* call) {
  const base::http::Request& head = call->request.head;
  const base::WallTime now = services_.clock->now();
  CO_ASSIGN_OR_RETURN(const ShownSignature shown, read_authorization(head.headers));
  auto token = head.headers.get("x-amz-security-token");
  if (!token) co_return refuse(s3::kUnknownKey, "no session token");
  CO_ASSIGN_OR_RETURN(auto key, services_.keys->open(shown.access_key_id, *token, now));
  CO_ASSIGN_OR_RETURN(call->verified,
                      verify_signature(shown, head, key.secret_access_key, options_.region, now));
  call->key_id = shown.access_key_id;
  call->grant = std::move(key.grant);
  co_return Status{};
}

Task<Status> Gateway::take_body(RequestContext, Call* call) {
  call->fields = own_fields(call->request.head.headers);
  call->body = std::move(call->request.body);
  CO_ASSIGN_OR_RETURN(auto form, chunk_form(call->verified.payload_hash));
  if (call->body.source) {
    call->body.source = std::make_shared<ClientBody>(std::move(call->body.source),
                                                     services_.metrics->received_bytes);
  }
  if (form) {
    if (!call->body.source) co_return refuse(s3::kIncompleteBody, "no chunks");
    ChunkRules rules{.form = *form, .seed = call->verified};
    CO_ASSIGN_OR_RETURN(rules.length, decoded_length(call->fields));
    rules.trailer = std::string(call->fields.get("x-amz-trailer").value_or(""));
    const std::uint64_t length = rules.length;
    CO_ASSIGN_OR_RETURN(auto reader, ChunkReader::make(std::move(rules)));
    call->body = {decoded(std::move(call->body.source), std::move(reader)), length};
    call->fields = without_trailer_fields(call->fields);
  }
  if (call->body.source && !call->body.length) co_return refuse(s3::kNoLength);
  if (call->body.length.value_or(0) > kMostObject) co_return refuse(s3::kTooLarge);
  co_return Status{};
}

Task<Status> Gateway::read_operation(RequestContext, Call* call) {
  const base::http::Request& head = call->request.head;
  const std::string_view target = head.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::string_view query = target.substr(std::min(mark + 1, target.size()));
  delegation::S3RequestText text{.method = head.method,
                                 .host = head.headers.get("Host").value_or(""),
                                 .path = head.path(),
                                 .query = query,
                                 .headers = &call->fields};
  // The one body that says what the request is about.
  if (head.method == base::http::Method::kPost && query.starts_with("delete")) {
    CO_ASSIGN_OR_RETURN(call->document, co_await read_document(std::move(call->body.source)));
    const auto hash = base::crypto::sha256(*call->document);
    const bool hashed = call->verified.payload_hash.size() == 64;
    if (hashed && base::crypto::to_hex(base::crypto::view(hash)) != call->verified.payload_hash) {
      co_return refuse(s3::kBadDigest, "the document has another hash");
    }
    text.body = *call->document;
  }
  CO_ASSIGN_OR_RETURN(call->operation, parse_s3_request(options_.address, text));
  call->is_read = true;
  co_return Status{};
}

Task<Status> Gateway::find_rights(RequestContext context, Call* call) {
  const base::WallTime now = services_.clock->now();
  auto known = opened_.find(call->key_id);
  if (known != opened_.end() && now < known->second.until) {
    call->opened = known->second;
    co_return Status{};
  }
  CO_ASSIGN_OR_RETURN(call->opened, co_await open(context, call->grant));
  // Counted from before the question.
  call->opened.until = std::min(now + options_.rights_time, call->grant.expires);
  remember(call->key_id, call->opened);
  co_return Status{};
}

void Gateway::remember(const std::string& key_id, Opened opened) {
  const base::WallTime now = services_.clock->now();
  if (opened.until <= now) return;
  if (opened_.size() >= kMostRemembered) {
    std::erase_if(opened_, [&](const auto& one) { return one.second.until <= now; });
  }
  if (opened_.size() >= kMostRemembered) opened_.clear();
  opened_.insert_or_assign(key_id, std::move(opened));
}

Task<Result<Gateway::Opened>> Gateway::open(RequestContext context, Grant grant) {
  CO_ASSIGN_OR_RETURN(auto principal, services_.current_principal(grant.principal));
  CO_ASSIGN_OR_RETURN(auto catalog,
                      co_await services_.reach_catalog(context, principal, grant.catalog));
  CO_ASSIGN_OR_RETURN(auto rights, co_await rights_of(context, catalog.get(), principal, grant));
  co_return Opened{std::move(rights), std::move(catalog), {}};
}

// As the remote signer does it, but for a table that the key names.
Task<Result<delegation::StorageRightsPtr>> Gateway::rights_of(RequestContext context,
                                                              operation::Catalog* catalog,
                                                              auth::Principal principal,
                                                              Grant grant) {
  delegation::TablePlace place{
      .name_space = grant.table.name_space, .location = grant.location, .table = {}};
  auto loaded = co_await catalog->loaded_tables->get(context, grant.table);
  const bool absent = !loaded && loaded.error().reason() == ducklake::kNoSuchTable;
  if (loaded) {
    CO_ASSIGN_OR_RETURN(
        place, co_await delegation::seen_table_place(context, catalog, principal,
                                                     grant.table.name_space, std::move(*loaded)));
    // Also where the table is masked otherwise than it was then.
    if (place.location != grant.location) {
      co_return refuse(s3::kAccessDenied, "the name is another table's by now");
    }
  } else if (absent && grant.staged) {
    CO_ASSIGN_OR_RETURN(bool taken, co_await catalog->writer->is_location_taken(
                                        context, place.location, std::nullopt));
    if (taken) co_return refuse(s3::kAccessDenied, "the folder of the staged table is taken");
  } else {
    co_return std::move(loaded).error();
  }
  co_return co_await delegation::table_folder_rights(context, catalog, std::move(principal),
                                                     std::move(place), grant.access);
}

Task<Status> Gateway::check_rights(RequestContext, Call* call) {
  co_return authorize_s3(call->operation, *call->opened.rights);
}

Task<Status> Gateway::check_recorded(RequestContext context, Call* call) {
  if (!touches_object(call->operation.action)) co_return Status{};
  std::vector<std::string> objects;
  for (const auto* keys : {&call->operation.keys, &call->operation.other_keys}) {
    for (const storage::ObjectKey& key : *keys) {
      objects.push_back("s3://" + options_.address.bucket + "/" + key.text());
    }
  }
  CO_ASSIGN_OR_RETURN(auto recorded,
                      co_await call->opened.catalog->upkeep->recorded(context, std::move(objects)));
  if (recorded.empty()) co_return Status{};
  co_return refuse(s3::kAccessDenied, "the lake needs this object as it is: " + *recorded.begin());
}

Task<Result<StreamedResponse>> Gateway::forward(RequestContext context, Call* call) {
  storage::SignableRequest signable =
      signable_of(options_.store, call->operation, call->fields, call->request.head.method);
  base::http::ClientRequest request{.method = signable.method};
  signable.payload_hash = "UNSIGNED-PAYLOAD";
  BodyStream body = std::move(call->body);
  if (body.source && !takes_body(call->operation.action)) {
    co_return refuse(s3::kInvalidRequest, "a body that nobody asked for");
  }
  if (call->document) {
    request.body = delete_document(call->operation.keys);
    add_document_fields(request.body.view(), signable);
  } else if (call->verified.payload_hash.size() == 64) {
    // The store compares it, so what the client signed is what is kept.
    signable.payload_hash = call->verified.payload_hash;
  }
  request.target = storage::canonical_path(signable.path);
  if (!signable.query.empty()) request.target += "?" + storage::canonical_query(signable.query);
  request.headers = signer_.sign(signable, services_.clock->now());
  CO_ASSIGN_OR_RETURN(auto answer,
                      co_await store_->send(context, std::move(request), std::move(body)));
  co_return co_await relayed(std::move(answer), call->operation.action);
}

base::http::Refusal make_refusal() {
  return [](unsigned status, std::string_view) {
    S3Error row = status >= 500 ? s3::kUnavailable : s3::kInvalidRequest;
    if (status == 413) row = s3::kTooLarge;
    row.status = status;
    return to_response(row, "");
  };
}

}  // namespace lake::gateway
