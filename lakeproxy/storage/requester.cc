#include "lakeproxy/storage/requester.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

#include "base/core/text.h"
#include "lakeproxy/storage/documents.h"

namespace lake::storage {
namespace {

namespace asio = boost::asio;
using base::ErrorKind;
using base::Result;
using base::http::Method;
using base::http::Response;

base::http::Origin origin_of(const RequesterOptions& options) {
  base::http::Origin origin = options.origin;
  if (options.addressing == Addressing::kVirtualHost) {
    origin.host = options.bucket + "." + origin.host;
  }
  return origin;
}

bool changes_something(Method method) { return method != Method::kGet && method != Method::kHead; }

// A failure that may pass by itself, as an error; nothing for a final answer.
std::optional<base::Error> passing_failure(const Result<Response>& answer) {
  if (!answer) {
    switch (answer.error().kind()) {
      case ErrorKind::kUnavailable:
      case ErrorKind::kOutcomeUnknown:
      case ErrorKind::kTimeout: return answer.error();
      default: return std::nullopt;
    }
  }
  if (answer->status < 400) return std::nullopt;
  base::Error error = to_error(*answer);
  // Two conditional writes at once: one of them is asked to come again.
  bool again = answer->status == 409 && error_code(*answer) == "ConditionalRequestConflict";
  if (error.kind() == ErrorKind::kUnavailable || again) return error;
  return std::nullopt;
}

// What `last` means when an earlier try may have been carried out, or when
// nothing could have been.
base::Error conclusion(base::Error last, bool may_have_happened, Method method) {
  auto as = [&](ErrorKind kind, const char* message) {
    return base::fail(kind, message).with_detail(last.detail());
  };
  if (changes_something(method)) {
    return may_have_happened ? as(ErrorKind::kOutcomeUnknown,
                                  "the object store did not say whether the change was made")
                             : last;
  }
  if (last.kind() == ErrorKind::kOutcomeUnknown) {
    return as(ErrorKind::kUnavailable, "the object store gave no whole answer");
  }
  return last;
}

}  // namespace

Requester::Requester(RequesterOptions options, const base::Clock& clock, base::Random& random)
    : options_(std::move(options)),
      host_(origin_of(options_).authority()),
      signer_(options_.credentials, options_.region),
      clock_(clock),
      random_(random),
      client_(base::http::Client::create(origin_of(options_), options_.client)) {}

base::http::ClientRequest Requester::sign(const S3Request& request) {
  std::string path = "/";
  if (options_.addressing == Addressing::kPath) {
    path += options_.bucket;
    if (!request.key.empty()) path += '/';
  }
  path += request.key;
  base::http::ClientRequest out{
      .method = request.method, .target = canonical_path(path), .body = request.body};
  if (!request.query.empty()) out.target += "?" + canonical_query(request.query);
  out.headers = signer_.sign({.method = request.method,
                              .host = host_,
                              .path = std::move(path),
                              .query = request.query,
                              .headers = request.headers,
                              .payload_hash = request.payload_hash},
                             clock_.now());
  for (const auto& field : request.unsigned_headers.fields()) {
    out.headers.add(field.name, field.value);
  }
  return out;
}

// Anything up to twice the last limit, so that many clients that failed
// together do not come back together.
std::chrono::milliseconds Requester::pause_before(unsigned attempt) {
  std::array<std::uint8_t, 4> bytes;
  random_.fill(std::as_writable_bytes(std::span(bytes)));
  std::uint32_t draw = 0;
  for (auto byte : bytes) draw = draw << 8 | byte;
  auto limit = options_.first_pause.count() << (attempt - 1);
  return std::chrono::milliseconds(limit / 2 + draw % (limit / 2 + 1));
}

base::Task<Result<Response>> Requester::exchange(base::RequestContext context,
                                                 base::http::ClientRequest request) {
  auto wait = measure::WaitMeter::wait(meter_, context.request_id, measure::Party::kStore);
  co_return co_await client_->send(context, std::move(request));
}

base::Task<Result<Response>> Requester::send(base::RequestContext context, S3Request request) {
  if (request.payload_hash.empty()) {
    request.payload_hash = base::to_hex(sha256(request.body.view()));
  }
  asio::steady_timer pause(co_await asio::this_coro::executor);
  bool may_have_happened = false;
  for (unsigned attempt = 1;; ++attempt) {
    auto answer = co_await exchange(context, sign(request));
    auto failure = passing_failure(answer);
    if (!failure) co_return answer;
    may_have_happened =
        may_have_happened || (!answer && answer.error().kind() == ErrorKind::kOutcomeUnknown);
    auto wait = pause_before(attempt);
    if (attempt >= options_.tries || context.deadline - std::chrono::steady_clock::now() <= wait) {
      co_return conclusion(std::move(*failure), may_have_happened, request.method);
    }
    pause.expires_after(wait);
    auto [stopped] = co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    if (stopped) co_return base::fail(ErrorKind::kCancelled, "the request was cancelled");
  }
}

}  // namespace lake::storage
