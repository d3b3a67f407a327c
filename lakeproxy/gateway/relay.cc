#include "lakeproxy/gateway/relay.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <string>
#include <utility>

#include "base/core/text.h"
#include "base/crypto/encoding.h"
#include "lakeproxy/gateway/s3_error.h"
#include "lakeproxy/storage/documents.h"
#include "lakeproxy/storage/md5.h"
#include "lakeproxy/storage/xml.h"

namespace lake::gateway {
namespace {

using base::Result;
using base::http::Headers;
using base::http::StreamedResponse;
using delegation::S3Action;

constexpr std::size_t kMostError = 64 * 1024;

constexpr std::array<std::string_view, 16> kAsked{"range",
                                                  "if-match",
                                                  "if-none-match",
                                                  "if-modified-since",
                                                  "content-type",
                                                  "content-md5",
                                                  "if-unmodified-since",
                                                  "cache-control",
                                                  "expires",
                                                  "content-language",
                                                  "content-disposition",
                                                  "x-amz-sdk-checksum-algorithm",
                                                  "x-amz-checksum-algorithm",
                                                  "x-amz-checksum-mode",
                                                  "x-amz-checksum-type",
                                                  "x-amz-mp-object-size"};
constexpr std::array<std::string_view, 15> kTold{"content-type",         "etag",
                                                 "last-modified",        "accept-ranges",
                                                 "content-range",        "expires",
                                                 "cache-control",        "content-encoding",
                                                 "content-language",     "content-disposition",
                                                 "x-amz-mp-parts-count", "x-amz-checksum-type",
                                                 "x-amz-storage-class",  "x-amz-abort-date",
                                                 "x-amz-bucket-region"};
constexpr std::string_view kChecksum = "x-amz-checksum-";

bool is_let_through(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end() || name.starts_with(kChecksum);
}

// "aws-chunked" is taken off with the coding; what the object is coded with stays.
std::string content_coding(std::string_view value) {
  std::string kept;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(','), value.size());
    std::string_view one = value.substr(0, end);
    value.remove_prefix(std::min(end + 1, value.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.empty() || boost::algorithm::iequals(one, "aws-chunked")) continue;
    if (!kept.empty()) kept += ',';
    kept += one;
  }
  return kept;
}

bool makes_object(S3Action action) {
  return action == S3Action::kPutObject || action == S3Action::kCompleteUpload;
}

std::string path_of(const delegation::S3Address& store, const delegation::S3Operation& operation) {
  std::string path = "/";
  const bool of_object =
      operation.action != S3Action::kListObjects && operation.action != S3Action::kDeleteObjects;
  if (store.addressing == storage::Addressing::kPath) {
    path += store.bucket;
    if (of_object) path += '/';
  }
  if (of_object) path += operation.keys.front().text();
  return path;
}

// The store's error in our words.
base::Task<Result<StreamedResponse>> refused(StreamedResponse answer) {
  base::http::Response whole{.status = answer.head.status, .headers = {}, .body = {}};
  std::string text;
  std::string piece(kMostError, '\0');
  while (answer.body.source && text.size() < kMostError) {
    auto n = co_await answer.body.source->read(piece);
    if (!n || *n == 0) break;
    text.append(piece, 0, *n);
  }
  whole.body = base::http::Body(std::move(text));
  const std::string code = storage::error_code(whole);
  const S3Error* row = passed_on(code);
  if (row == nullptr) row = &row_of_status(answer.head.status);
  StreamedResponse response{.head = to_response(*row, "")};
  const bool ours = row->status >= 500;
  if (ours) co_return refuse(*row, "store: " + std::to_string(answer.head.status) + " " + code);
  co_return response;
}

}  // namespace

base::http::Origin store_origin(const delegation::S3Address& store) {
  base::http::Origin origin = store.origin;
  if (store.addressing == storage::Addressing::kVirtualHost) {
    origin.host = store.bucket + "." + origin.host;
  }
  return origin;
}

storage::SignableRequest signable_of(const delegation::S3Address& store,
                                     const delegation::S3Operation& operation,
                                     const Headers& fields, base::http::Method method) {
  storage::SignableRequest request{.method = method,
                                   .host = store_origin(store).authority(),
                                   .path = path_of(store, operation),
                                   .query = operation.query};
  for (const Headers::Field& field : fields.fields()) {
    const std::string name = boost::algorithm::to_lower_copy(field.name);
    if (name == "content-encoding") {
      if (std::string coding = content_coding(field.value); !coding.empty()) {
        request.headers.add(field.name, std::move(coding));
      }
    } else if (is_let_through(name, kAsked)) {
      request.headers.add(field.name, field.value);
    }
  }
  if (makes_object(operation.action)) request.headers.set("If-None-Match", "*");
  return request;
}

base::http::Body delete_document(const std::vector<storage::ObjectKey>& keys) {
  std::string out = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const storage::ObjectKey& key : keys) {
    out += "<Object><Key>" + storage::escape_xml(key.text()) + "</Key></Object>";
  }
  return base::http::Body(out + "</Delete>");
}

void add_document_fields(std::string_view document, storage::SignableRequest& request) {
  const auto digest = storage::md5(document);
  Headers kept;
  for (const Headers::Field& field : request.headers.fields()) {
    // Those of the client are of its own document.
    if (!boost::algorithm::istarts_with(field.name, "x-amz-")) kept.add(field.name, field.value);
  }
  kept.set("Content-Type", "application/xml");
  kept.set("Content-MD5",
           base::crypto::to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()}));
  request.headers = std::move(kept);
  request.payload_hash = base::to_hex(storage::sha256(document));
}

base::Task<Result<StreamedResponse>> relayed(StreamedResponse answer, S3Action action) {
  const unsigned status = answer.head.status;
  const bool good = (status >= 200 && status < 300) || status == 304;
  if (!good && (action != S3Action::kHeadObject || row_of_status(status).status >= 500)) {
    co_return co_await refused(std::move(answer));
  }
  StreamedResponse response{.head = {.status = status}, .body = std::move(answer.body)};
  for (const Headers::Field& field : answer.head.headers.fields()) {
    if (is_let_through(boost::algorithm::to_lower_copy(field.name), kTold)) {
      response.head.headers.add(field.name, field.value);
    }
  }
  co_return response;
}

}  // namespace lake::gateway
