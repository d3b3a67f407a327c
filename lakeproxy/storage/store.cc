#include "lakeproxy/storage/store.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/core/text.h"
#include "lakeproxy/storage/md5.h"

namespace lake::storage {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Result;
using base::Status;
using base::Task;
using base::http::Body;
using base::http::Method;
using base::http::Response;

constexpr std::size_t kMinPartBytes = 5 << 20;
constexpr std::size_t kRemoveBatch = 1000;
constexpr std::size_t kMaxEmptyPages = 100;
constexpr std::string_view kDefaultRegion = "us-east-1";

// Source: RFC 1864. The one checksum of a removal that every store knows.
std::string content_md5(std::string_view body) {
  Md5 digest = md5(body);
  std::array<unsigned char, 25> text;  // 24 characters and a zero.
  EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return {reinterpret_cast<const char*>(text.data()), text.size() - 1};
}

S3Request put_request(const ObjectKey& key, Body bytes, std::string content_type) {
  S3Request request{.method = Method::kPut, .key = key.text(), .body = std::move(bytes)};
  if (!content_type.empty()) request.headers.add("Content-Type", std::move(content_type));
  return request;
}

std::optional<base::Error> fault_in(const StoreOptions& options) {
  auto invalid = [](std::string message) { return base::fail(ErrorKind::kInvalid, message); };
  if (!is_bucket_name(options.bucket)) return invalid("bucket: not a bucket name");
  if (options.region.empty()) return invalid("region: must not be empty");
  if (options.access_key.empty()) return invalid("access_key: must not be empty");
  if (options.secret_key.empty()) return invalid("secret_key: must not be empty");
  if (options.part_bytes < kMinPartBytes) return invalid("part_bytes: must be at least 5 MiB");
  if (options.tries == 0) return invalid("tries: must be at least 1");
  if (options.connections == 0) return invalid("connections: must be at least 1");
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<ObjectStore>> ObjectStore::create(StoreOptions options,
                                                         const base::Clock& clock,
                                                         base::Random& random) {
  if (auto fault = fault_in(options)) return std::move(*fault);
  auto origin = base::http::Origin::parse(options.endpoint);
  if (!origin) return std::move(origin).error().with_context("endpoint");
  RequesterOptions requester{
      .origin = std::move(*origin),
      .region = options.region,
      .bucket = options.bucket,
      .credentials = {.access_key = options.access_key,
                      .secret_key = options.secret_key,
                      .session_token = options.session_token},
      .addressing = options.addressing,
      .client = {.connections = options.connections,
                 .body_bytes = options.object_bytes,
                 .ca_file = options.ca_file},
      .tries = options.tries,
      .first_pause = options.first_pause,
  };
  return std::unique_ptr<ObjectStore>(
      new ObjectStore(std::move(options), std::move(requester), clock, random));
}

// For requests where any status over 2xx is a failure.
Task<Result<Response>> ObjectStore::send_ok(RequestContext context, S3Request request) {
  CO_ASSIGN_OR_RETURN(Response answer, co_await requester_.send(context, std::move(request)));
  if (answer.status < 200 || answer.status > 299) co_return to_error(answer);
  co_return answer;
}

Task<Result<std::string>> ObjectStore::get(RequestContext context, ObjectKey key) {
  CO_ASSIGN_OR_RETURN(Response answer, co_await send_ok(context, {.key = key.text()}));
  co_return std::string(answer.body.view());
}

Task<Result<std::string>> ObjectStore::get_range(RequestContext context, ObjectKey key,
                                                 std::uint64_t offset, std::uint64_t length) {
  if (length == 0 || offset + length < offset) {
    co_return base::fail(ErrorKind::kInvalid, "a range must have a length");
  }
  S3Request request{.key = key.text()};
  request.headers.add("Range", fmt::format("bytes={}-{}", offset, offset + length - 1));
  CO_ASSIGN_OR_RETURN(Response answer, co_await send_ok(context, std::move(request)));
  if (answer.status != 206) {
    co_return base::fail(ErrorKind::kUnsupported, "the object store does not serve ranges");
  }
  auto range = answer.headers.get("Content-Range").value_or("");
  if (!range.starts_with(fmt::format("bytes {}-", offset)) || answer.body.size() > length) {
    co_return base::fail(ErrorKind::kCorrupt, "the object store sent another range");
  }
  co_return std::string(answer.body.view());
}

Task<Result<ObjectInfo>> ObjectStore::head(RequestContext context, ObjectKey key) {
  CO_ASSIGN_OR_RETURN(Response answer,
                      co_await send_ok(context, {.method = Method::kHead, .key = key.text()}));
  auto size = base::parse_int64(answer.headers.get("Content-Length").value_or(""));
  if (!size || *size < 0) {
    co_return base::fail(ErrorKind::kCorrupt, "the object store sent no size");
  }
  co_return ObjectInfo{.size = static_cast<std::uint64_t>(*size),
                       .etag = std::string(answer.headers.get("ETag").value_or(""))};
}

Task<Status> ObjectStore::put(RequestContext context, ObjectKey key, Body bytes,
                              std::string content_type) {
  if (bytes.size() > options_.multipart_over) {
    co_return co_await put_in_parts(context, std::move(key), std::move(bytes),
                                    std::move(content_type));
  }
  CO_RETURN_IF_ERROR(
      co_await send_ok(context, put_request(key, std::move(bytes), std::move(content_type))));
  co_return Status{};
}

Task<Result<PutOutcome>> ObjectStore::put_if_absent(RequestContext context, ObjectKey key,
                                                    Body bytes, std::string content_type,
                                                    std::string sha256) {
  S3Request request = put_request(key, std::move(bytes), std::move(content_type));
  request.payload_hash = std::move(sha256);
  request.headers.add("If-None-Match", "*");
  CO_ASSIGN_OR_RETURN(Response answer, co_await requester_.send(context, std::move(request)));
  if (answer.status == 412) co_return PutOutcome::kExisted;
  if (answer.status < 200 || answer.status > 299) co_return to_error(answer);
  co_return PutOutcome::kStored;
}

Task<Result<ListPage>> ObjectStore::list(RequestContext context, std::string prefix,
                                         std::string continuation) {
  S3Request request{.query = {{"list-type", "2"}, {"encoding-type", "url"}}};
  if (!prefix.empty()) request.query.push_back({"prefix", std::move(prefix)});
  if (!continuation.empty()) {
    request.query.push_back({"continuation-token", std::move(continuation)});
  }
  CO_ASSIGN_OR_RETURN(Response answer, co_await send_ok(context, std::move(request)));
  co_return read_list_page(answer.body.view());
}

Task<Result<std::vector<ListedObject>>> ObjectStore::list_all(RequestContext context,
                                                              std::string prefix,
                                                              std::size_t limit) {
  std::vector<ListedObject> all;
  std::size_t pages = 0;
  std::string continuation;
  do {
    CO_ASSIGN_OR_RETURN(ListPage page, co_await list(context, prefix, std::move(continuation)));
    // Pages may be empty; a store that sends those for ever must not keep us.
    if (all.size() + page.objects.size() > limit || ++pages > limit + kMaxEmptyPages) {
      co_return base::fail(ErrorKind::kTooLarge, "too many objects to list");
    }
    std::ranges::move(page.objects, std::back_inserter(all));
    continuation = std::move(page.continuation);
  } while (!continuation.empty());
  co_return all;
}

Task<Status> ObjectStore::remove(RequestContext context, ObjectKey key) {
  CO_ASSIGN_OR_RETURN(Response answer, co_await requester_.send(context, {.method = Method::kDelete,
                                                                          .key = key.text()}));
  bool gone = answer.status == 404 && error_code(answer) == "NoSuchKey";
  if (gone || (answer.status >= 200 && answer.status <= 299)) co_return Status{};
  co_return to_error(answer);
}

Task<Result<std::vector<RemoveFailure>>> ObjectStore::remove_many(RequestContext context,
                                                                  std::vector<ObjectKey> keys) {
  std::vector<RemoveFailure> failures;
  for (std::size_t start = 0; start < keys.size(); start += kRemoveBatch) {
    auto end = std::min(start + kRemoveBatch, keys.size());
    std::vector<ObjectKey> batch(keys.begin() + static_cast<std::ptrdiff_t>(start),
                                 keys.begin() + static_cast<std::ptrdiff_t>(end));
    S3Request request{
        .method = Method::kPost, .query = {{"delete", ""}}, .body = Body(write_delete(batch))};
    request.headers.add("Content-Type", "application/xml");
    request.headers.add("Content-MD5", content_md5(request.body.view()));
    CO_ASSIGN_OR_RETURN(Response answer, co_await send_ok(context, std::move(request)));
    CO_ASSIGN_OR_RETURN(auto failed, read_delete_answer(answer.body.view(), batch));
    std::ranges::move(failed, std::back_inserter(failures));
  }
  co_return failures;
}

Task<Result<bool>> ObjectStore::obeys_unsigned_headers(RequestContext context, ObjectKey scratch) {
  constexpr std::string_view kContent = "x";
  CO_ASSIGN_OR_RETURN(ObjectKey from, ObjectKey::parse(scratch.text() + "-from"));
  CO_ASSIGN_OR_RETURN(ObjectKey to, ObjectKey::parse(scratch.text() + "-to"));
  // It also shows that nothing but the field can be the reason of a refusal.
  CO_RETURN_IF_ERROR(co_await put(context, from, Body(std::string(kContent)), "text/plain"));
  S3Request request{.method = Method::kPut, .key = to.text()};
  request.unsigned_headers.add("x-amz-copy-source",
                               canonical_path("/" + options_.bucket + "/" + from.text()));
  CO_ASSIGN_OR_RETURN(Response answer, co_await requester_.send(context, std::move(request)));
  bool obeyed = false;
  if (answer.status >= 200 && answer.status <= 299) {
    CO_ASSIGN_OR_RETURN(std::string copy, co_await get(context, to));
    obeyed = copy == kContent;
  } else if (answer.status != 400 && answer.status != 403) {
    co_return to_error(answer);
  }
  CO_RETURN_IF_ERROR(co_await remove(context, std::move(to)));
  CO_RETURN_IF_ERROR(co_await remove(context, std::move(from)));
  co_return obeyed;
}

Task<Status> ObjectStore::ready(RequestContext context) {
  CO_RETURN_IF_ERROR(co_await send_ok(context, {.method = Method::kHead}));
  co_return Status{};
}

Task<Status> ObjectStore::create_bucket(RequestContext context) {
  S3Request request{.method = Method::kPut};
  if (options_.region != kDefaultRegion) request.body = Body(write_bucket_region(options_.region));
  CO_ASSIGN_OR_RETURN(Response answer, co_await requester_.send(context, std::move(request)));
  bool ours = answer.status == 409 && error_code(answer) == "BucketAlreadyOwnedByYou";
  if (ours || (answer.status >= 200 && answer.status <= 299)) co_return Status{};
  co_return to_error(answer);
}

}  // namespace lake::storage
