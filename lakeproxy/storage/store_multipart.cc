// Objects too large for one request: parts in order, then one request that
// makes them an object. Until that one is answered nothing is visible.

#include <fmt/format.h>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/core/text.h"
#include "lakeproxy/storage/md5.h"
#include "lakeproxy/storage/store.h"

namespace lake::storage {
namespace {

namespace asio = boost::asio;
using base::ErrorKind;
using base::RequestContext;
using base::Result;
using base::Status;
using base::Task;
using base::http::Body;
using base::http::Method;
using base::http::Response;

constexpr std::size_t kMaxParts = 10'000;
constexpr std::chrono::seconds kAbandonTime{5};

// Before the last step nothing is visible, whatever became of a part.
base::Error nothing_changed(base::Error error) {
  if (error.kind() != ErrorKind::kOutcomeUnknown) return error;
  return base::fail(ErrorKind::kUnavailable, "the object store is not available")
      .with_detail(error.detail());
}

// The ETag of an object made of parts: the MD5 of their MD5s and their number.
// Empty when the parts' ETags are no MD5s, as with keys held by the store.
// Source: Amazon S3 User Guide, "Checking object integrity".
std::string etag_of_parts(const std::vector<std::string>& etags) {
  std::string digests;
  for (std::string_view etag : etags) {
    if (etag.size() != 34 || etag.front() != '"' || etag.back() != '"') return {};
    auto digest = base::from_hex(etag.substr(1, 32));
    if (!digest) return {};
    digests += *digest;
  }
  return fmt::format("\"{}-{}\"", base::to_hex(md5(digests)), etags.size());
}

}  // namespace

Task<Status> ObjectStore::put_in_parts(RequestContext context, ObjectKey key, Body bytes,
                                       std::string content_type) {
  if ((bytes.size() - 1) / options_.part_bytes >= kMaxParts) {
    co_return base::fail(ErrorKind::kTooLarge, "the object is too large for the object store");
  }
  // 1. Open the upload. Repeated after a lost answer this leaves an empty one
  // behind, which costs nothing.
  S3Request open{.method = Method::kPost, .key = key.text(), .query = {{"uploads", ""}}};
  if (!content_type.empty()) open.headers.add("Content-Type", std::move(content_type));
  auto opened = co_await send_ok(context, std::move(open));
  if (!opened) co_return nothing_changed(std::move(opened).error());
  CO_ASSIGN_OR_RETURN(std::string upload_id, read_upload_id(opened->body.view()));
  // 2. Send the parts.
  auto etags = co_await send_parts(context, key, upload_id, std::move(bytes));
  if (!etags) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await abandon(context, std::move(key), std::move(upload_id));
    co_return nothing_changed(std::move(etags).error());
  }
  // 3. Make them one object.
  Status done = co_await complete(context, key, upload_id, std::move(*etags));
  if (!done && done.error().kind() != ErrorKind::kOutcomeUnknown) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await abandon(context, std::move(key), std::move(upload_id));
  }
  co_return done;
}

Task<Result<std::vector<std::string>>> ObjectStore::send_parts(RequestContext context,
                                                               ObjectKey key, std::string upload_id,
                                                               Body bytes) {
  std::vector<std::string> etags;
  for (std::size_t start = 0; start < bytes.size(); start += options_.part_bytes) {
    S3Request part{
        .method = Method::kPut,
        .key = key.text(),
        .query = {{"partNumber", std::to_string(etags.size() + 1)}, {"uploadId", upload_id}},
        .body = Body(std::string(bytes.view().substr(start, options_.part_bytes)))};
    CO_ASSIGN_OR_RETURN(Response answer, co_await send_ok(context, std::move(part)));
    auto etag = answer.headers.get("ETag");
    if (!etag) co_return base::fail(ErrorKind::kCorrupt, "the object store sent no ETag");
    etags.emplace_back(*etag);
  }
  co_return etags;
}

Task<Status> ObjectStore::complete(RequestContext context, ObjectKey key, std::string upload_id,
                                   std::vector<std::string> etags) {
  CO_ASSIGN_OR_RETURN(Response answer,
                      co_await requester_.send(context, {.method = Method::kPost,
                                                         .key = key.text(),
                                                         .query = {{"uploadId", upload_id}},
                                                         .body = Body(write_complete(etags))}));
  if (answer.status == 404) co_return co_await look_for(context, std::move(key), std::move(etags));
  if (answer.status < 200 || answer.status > 299) co_return to_error(answer);
  co_return read_complete_answer(answer.body.view());
}

// The upload we have just filled is gone: either a try whose answer was lost
// has completed it, or somebody has abandoned it. The object itself tells.
Task<Status> ObjectStore::look_for(RequestContext context, ObjectKey key,
                                   std::vector<std::string> etags) {
  auto info = co_await head(context, std::move(key));
  if (info && info->etag == etag_of_parts(etags)) co_return Status{};
  co_return base::fail(ErrorKind::kOutcomeUnknown,
                       "the object store did not say whether the object was stored");
}

// Best effort: what stays behind is removed by the bucket's own rule for
// uploads that were never completed.
Task<void> ObjectStore::abandon(RequestContext context, ObjectKey key, std::string upload_id) {
  // The deadline may be what ended the upload.
  context.deadline = std::chrono::steady_clock::now() + kAbandonTime;
  auto ignored = co_await requester_.send(
      context, {.method = Method::kDelete, .key = key.text(), .query = {{"uploadId", upload_id}}});
  static_cast<void>(ignored);
}

}  // namespace lake::storage
