#include "lakeproxy/delegation/remote_signer.h"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/delegation/table_rights.h"
#include "lakeproxy/ducklake/lake/reasons.h"

namespace lake::delegation {
namespace {

using base::ErrorKind;
using base::http::Headers;
using storage::ObjectKey;

constexpr std::size_t kMostRemembered = 4096;
constexpr std::string_view kPayloadHash = "x-amz-content-sha256";
constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
constexpr std::string_view kUnsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

base::Error forbidden(std::string_view reason, std::string message) {
  return base::fail(ErrorKind::kForbidden, std::move(message)).with_reason(reason);
}

bool makes_object(S3Action action) {
  return action == S3Action::kPutObject || action == S3Action::kCompleteUpload;
}

// What changes an object that may be there already.
bool touches_object(S3Action action) {
  return makes_object(action) || action == S3Action::kCreateUpload ||
         action == S3Action::kDeleteObject || action == S3Action::kDeleteObjects;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// The fields that the store takes for an instruction: all of them are signed, as S3 demands.
Headers signed_fields(const Headers& given) {
  Headers fields;
  for (const auto& field : given.fields()) {
    std::string name = boost::algorithm::to_lower_copy(field.name);
    bool of_signature =
        name == "x-amz-date" || name == kPayloadHash || name == "x-amz-security-token";
    if (name.starts_with("x-amz-") && !of_signature) fields.add(std::move(name), field.value);
  }
  return fields;
}

// The hash of the body that the store compares, as the client will send it.
base::Result<std::string> payload_hash(const S3Operation& operation, const SignRequest& request) {
  auto given = request.headers.get(kPayloadHash);
  if (operation.action == S3Action::kDeleteObjects) {
    std::string judged = base::to_hex(storage::sha256(*request.body));
    if (!given || *given == judged) return judged;
    return base::fail(ErrorKind::kInvalid, "body: x-amz-content-sha256 is of another one")
        .with_reason(kBadBody);
  }
  if (!given) return std::string(kUnsignedPayload);
  if (*given == kUnsignedPayload || *given == kUnsignedTrailer || is_sha256(*given)) {
    return std::string(*given);
  }
  return base::fail(ErrorKind::kInvalid, "x-amz-content-sha256: not a form that is signed")
      .with_reason(kBadHeader);
}

// The record of a refusal; that of what is signed is the line of the rights it stands on.
void note_denied(const base::RequestContext& context, const operation::Catalog& catalog,
                 const auth::Principal& principal, const base::Error& error) {
  if (error.reason().empty()) return;  // A server behind us, or no such table.
  const std::string operation = "sign_denied_" + std::string(error.reason());
  if (catalog.audit != nullptr) {
    catalog.audit->write_summed(context, audit::record_of(principal, operation, "", "denied"));
  }
  catalog.log->warning("signature refused",
                       {{"operation", operation},
                        {"user", principal.subject},
                        {"catalog", catalog.lake.catalog},
                        {"error", base::for_terminal(base::shorten(error.message(), 300))}});
}

// Errors: the record cannot be stored, and nothing may be signed.
base::Task<base::Status> record_rights(base::RequestContext context, operation::Catalog* catalog,
                                       auth::Principal principal, std::string table,
                                       KeyAccess access) {
  const std::string may = access == KeyAccess::kReadWrite ? "read-write" : "read";
  catalog->log->info("signing for a caller", {{"operation", "signed"},
                                              {"user", principal.subject},
                                              {"catalog", catalog->lake.catalog},
                                              {"table", table},
                                              {"access", may}});
  if (catalog->audit == nullptr) co_return base::Status{};
  auto record = audit::record_of(principal, "signed", std::move(table), "allowed");
  record.detail = base::json::write(base::json::Object{{"access", may}});
  co_return co_await catalog->audit->write(context, std::move(record));
}

std::string name_of(const model::TableIdentifier& table) {
  std::string text;
  for (const std::string& level : table.name_space.levels) text += level + '\x1f';
  return text + '\x1e' + table.name;
}

std::string folder_of(const std::string& object) { return object.substr(0, object.rfind('/')); }

std::string object_of(const std::string& bucket, std::string_view name) {
  return "s3://" + bucket + "/" + std::string(name);
}

}  // namespace

RemoteSigner::RemoteSigner(SignerOptions options, const base::Clock& clock, base::Random& random,
                           SharedStrictness& strictness)
    : options_(std::move(options)),
      clock_(clock),
      random_(random),
      strictness_(strictness),
      signer_(options_.credentials, options_.region) {}

template <class T>
std::optional<T> RemoteSigner::recall(Memory<T>& memory, const std::string& key) const {
  auto found = memory.find(key);
  if (found == memory.end()) return std::nullopt;
  if (clock_.now() < found->second.until) return found->second.value;
  memory.erase(found);
  return std::nullopt;
}

template <class T>
void RemoteSigner::remember(Memory<T>& memory, std::string key, T value, base::WallTime since) {
  base::WallTime until = since + options_.cache_time;
  base::WallTime now = clock_.now();
  if (until <= now) return;
  if (memory.size() >= kMostRemembered) {
    std::erase_if(memory, [&](const auto& one) { return one.second.until <= now; });
  }
  if (memory.size() >= kMostRemembered) memory.clear();
  memory.insert_or_assign(std::move(key), Remembered<T>{std::move(value), until});
}

base::Result<S3Operation> RemoteSigner::read(const SignRequest& request) const {
  ASSIGN_OR_RETURN(S3Url url, split_s3_url(request.uri));
  if (url.encrypted != options_.address.origin.encrypted) {
    return forbidden(kBadAddress, "not the address of the object store");
  }
  S3RequestText text{.method = request.method,
                     .host = url.host,
                     .path = url.path,
                     .query = url.query,
                     .headers = &request.headers};
  if (request.body) text.body = *request.body;
  ASSIGN_OR_RETURN(S3Operation operation, parse_s3_request(options_.address, text));
  auto condition = request.headers.get("If-None-Match");
  if (makes_object(operation.action) && condition && *condition != "*") {
    return base::fail(ErrorKind::kInvalid, "If-None-Match: must be * for a new object")
        .with_reason(kBadHeader);
  }
  return operation;
}

base::Task<base::Result<SignedRequest>> RemoteSigner::sign(
    base::RequestContext context, operation::Catalog* catalog,
    policy::Authorized<SignForTable> request) {
  auto answer =
      co_await judge(context, catalog, {request.principal(), request->identifier, request->staged},
                     read(request->request), request->request);
  if (!answer) note_denied(context, *catalog, request.principal(), answer.error());
  co_return answer;
}

base::Task<base::Result<SignedRequest>> RemoteSigner::sign(
    base::RequestContext context, operation::Catalog* catalog,
    policy::Authorized<SignByObject> request) {
  auto answer = co_await sign_found(context, catalog, request);
  if (!answer) note_denied(context, *catalog, request.principal(), answer.error());
  co_return answer;
}

base::Task<base::Result<SignedRequest>> RemoteSigner::sign_found(
    base::RequestContext context, operation::Catalog* catalog,
    policy::Authorized<SignByObject> request) {
  CO_ASSIGN_OR_RETURN(S3Operation operation, read(request->request));
  const std::string name = operation.keys.empty() ? operation.prefix : operation.keys[0].text();
  CO_ASSIGN_OR_RETURN(auto identifier, co_await table_of(context, catalog,
                                                         object_of(options_.address.bucket, name)));
  // As if there were none.
  if (!policy::may_read(request.principal(), identifier.name_space)) {
    co_return forbidden(kNoTable, "not in the folder of a table");
  }
  co_return co_await judge(context, catalog,
                           {request.principal(), std::move(identifier), std::nullopt},
                           std::move(operation), request->request);
}

base::Task<base::Result<model::TableIdentifier>> RemoteSigner::table_of(
    base::RequestContext context, operation::Catalog* catalog, std::string object) {
  std::string key = catalog->lake.catalog + '\x1e' + folder_of(object);
  if (auto known = recall(tables_by_folder_, key)) co_return std::move(*known);
  base::WallTime since = clock_.now();
  CO_ASSIGN_OR_RETURN(auto found, co_await catalog->upkeep->table_of(context, std::move(object)));
  if (!found) co_return forbidden(kNoTable, "not in the folder of a table");
  remember(tables_by_folder_, std::move(key), *found, since);
  co_return std::move(*found);
}

base::Task<base::Result<StorageRightsPtr>> RemoteSigner::rights(base::RequestContext context,
                                                                operation::Catalog* catalog,
                                                                Subject subject) {
  const auth::Principal& principal = subject.principal;
  const bool writes = policy::may_write(principal, subject.identifier.name_space);
  // Two issuers may give one name to two subjects, and policies reach one who is acted for
  // otherwise, by roles that both have.
  std::string key = catalog->lake.catalog + '\x1e' + name_of(subject.identifier) + '\x1e' +
                    (subject.staged ? base::to_string(*subject.staged) : "") + '\x1e' +
                    (writes ? "w" : "r") + '\x1e' + principal.issuer + '\x1e' + principal.subject +
                    '\x1e' + principal.actor;
  if (auto known = recall(rights_, key)) co_return std::move(*known);
  base::WallTime since = clock_.now();
  TablePlace place{.name_space = subject.identifier.name_space, .location = {}, .table = {}};
  auto loaded = co_await catalog->loaded_tables->get(context, subject.identifier);
  const bool absent = !loaded && loaded.error().reason() == ducklake::kNoSuchTable;
  if (loaded) {
    CO_ASSIGN_OR_RETURN(
        auto seen, co_await operation::see_table(context, catalog, principal, std::move(*loaded)));
    place = seen_place(subject.identifier.name_space, seen);
  } else if (absent && subject.staged && writes) {
    CO_ASSIGN_OR_RETURN(auto name_space, co_await catalog->reader->load_namespace(
                                             context, subject.identifier.name_space));
    place.location =
        catalog->writer->new_table_location(name_space, subject.identifier.name, *subject.staged);
    CO_ASSIGN_OR_RETURN(bool taken, co_await catalog->writer->is_location_taken(
                                        context, place.location, std::nullopt));
    if (taken) co_return forbidden(kNoTable, "the folder of the staged table is taken");
  } else {
    co_return std::move(loaded).error();
  }
  CO_ASSIGN_OR_RETURN(auto made,
                      co_await table_folder_rights(context, catalog, principal, std::move(place),
                                                   KeyAccess::kReadWrite));
  CO_RETURN_IF_ERROR(co_await record_rights(context, catalog, principal,
                                            subject.identifier.display(), made->access()));
  remember(rights_, std::move(key), made, since);
  co_return made;
}

base::Task<base::Result<SignedRequest>> RemoteSigner::judge(base::RequestContext context,
                                                            operation::Catalog* catalog,
                                                            Subject subject,
                                                            base::Result<S3Operation> asked,
                                                            SignRequest request) {
  CO_ASSIGN_OR_RETURN(S3Operation operation, std::move(asked));
  CO_ASSIGN_OR_RETURN(auto rights, co_await this->rights(context, catalog, std::move(subject)));
  CO_RETURN_IF_ERROR(authorize_s3(operation, *rights));
  if (!is_read(operation.action)) {
    CO_RETURN_IF_ERROR(co_await check_change(context, catalog, operation));
  }
  co_return sign_now(operation, request);
}

base::Task<base::Status> RemoteSigner::check_change(base::RequestContext context,
                                                    operation::Catalog* catalog,
                                                    S3Operation operation) {
  CO_RETURN_IF_ERROR(co_await check_strict(context, catalog));
  if (!touches_object(operation.action)) co_return base::Status{};
  std::vector<std::string> objects;
  for (const auto* keys : {&operation.keys, &operation.other_keys}) {
    for (const ObjectKey& key : *keys) {
      objects.push_back(object_of(options_.address.bucket, key.text()));
    }
  }
  CO_ASSIGN_OR_RETURN(auto recorded,
                      co_await catalog->upkeep->recorded(context, std::move(objects)));
  if (recorded.empty()) co_return base::Status{};
  co_return forbidden(kRecorded, "the lake needs this object as it is: " + *recorded.begin());
}

base::Task<base::Status> RemoteSigner::check_strict(base::RequestContext context,
                                                    operation::Catalog* catalog) {
  using enum StoreStrictness;
  if (strictness_.load() == kUnknown) {
    CO_ASSIGN_OR_RETURN(auto place, storage::Location::parse(catalog->lake.data_path));
    CO_ASSIGN_OR_RETURN(
        auto scratch,
        storage::join(place, "lakeproxy-signer/" + base::to_string(base::make_uuid_v4(random_))));
    CO_ASSIGN_OR_RETURN(auto key, scratch.key());
    CO_ASSIGN_OR_RETURN(bool obeys,
                        co_await catalog->store->obeys_unsigned_headers(context, std::move(key)));
    strictness_.store(obeys ? kLax : kStrict);
    if (obeys) {
      catalog->log->warning(
          "the object store obeys header fields that no signature covers: reads are signed, "
          "changes are not",
          {{"catalog", catalog->lake.catalog}});
    }
  }
  if (strictness_.load() == kStrict) co_return base::Status{};
  co_return base::fail(ErrorKind::kUnsupported,
                       "changes are not signed for this object store: it obeys header fields that "
                       "no signature covers")
      .with_reason(kLaxStore);
}

base::Result<SignedRequest> RemoteSigner::sign_now(const S3Operation& operation,
                                                   const SignRequest& request) {
  storage::SignableRequest signable{.method = request.method,
                                    .host = options_.address.host(),
                                    .path = operation.path,
                                    .query = operation.query,
                                    .headers = signed_fields(request.headers)};
  ASSIGN_OR_RETURN(signable.payload_hash, payload_hash(operation, request));
  // The signature lives on in the store for a quarter of an hour, in which the object may come to
  // be recorded: the store itself refuses to replace it.
  if (makes_object(operation.action)) signable.headers.add("if-none-match", "*");
  SignedRequest out{.uri = url_of(options_.address, operation)};
  Headers all = signer_.sign(signable, clock_.now());
  for (const auto& field : all.fields()) {
    // Clients add these to their own; what comes twice would be another request.
    if (!request.headers.get(field.name) || field.is("Authorization")) {
      out.headers.add(field.name, field.value);
    }
  }
  out.reusable = options_.cache_time.count() > 0 && (operation.action == S3Action::kGetObject ||
                                                     operation.action == S3Action::kHeadObject);
  return out;
}

std::vector<std::pair<std::string, std::string>> signing_config(const std::string& url,
                                                                const std::string& prefix,
                                                                const model::TableIdentifier& table,
                                                                std::optional<base::Uuid> staged) {
  using base::Slash;
  std::string levels;
  for (const std::string& level : table.name_space.levels) {
    if (!levels.empty()) levels += "%1F";
    levels += base::percent_encode(level, Slash::kEncode);
  }
  std::string endpoint = "v1/" + base::percent_encode(prefix, Slash::kEncode) + "/namespaces/" +
                         levels + "/tables/" + base::percent_encode(table.name, Slash::kEncode) +
                         "/sign";
  if (staged) endpoint += "?staged=" + base::to_string(*staged);
  // PyIceberg has one file system for all tables that are told the same, and it asks the signer of
  // the table that it loaded last: an address that serves them all. A staged table has no other.
  const std::string shared =
      staged ? endpoint : "v1/" + base::percent_encode(prefix, Slash::kEncode) + "/aws/s3/sign";
  // The names of Iceberg 1.10 and before, those after it, and what PyIceberg needs to know.
  return {{"s3.remote-signing-enabled", "true"},
          {"s3.signer.uri", url},
          {"s3.signer.endpoint", shared},
          {"signer.uri", url},
          {"signer.endpoint", endpoint},
          {"s3.signer", "S3V4RestSigner"},
          {"py-io-impl", "pyiceberg.io.fsspec.FsspecFileIO"}};
}

}  // namespace lake::delegation
