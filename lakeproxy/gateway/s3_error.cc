#include "lakeproxy/gateway/s3_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lake::gateway {
namespace {

using base::ErrorKind;

// What a client can be told of the store's answers.
constexpr std::array kPassedOn{
    S3Error{304, "NotModified", "The object is the same."},
    S3Error{404, "NoSuchKey", "There is no such object."},
    S3Error{404, "NoSuchUpload", "There is no such upload."},
    S3Error{412, "PreconditionFailed", "A condition of the request does not hold."},
    S3Error{409, "ConditionalRequestConflict", "Another request changes the same object."},
    S3Error{409, "OperationAborted", "Another request changes the same object."},
    S3Error{416, "InvalidRange", "The range lies outside the object."},
    S3Error{400, "InvalidPart", "A part is missing, or is another one."},
    S3Error{400, "InvalidPartOrder", "The parts are not in their order."},
    S3Error{400, "EntityTooSmall", "A part is too small."},
    S3Error{400, "EntityTooLarge", "The body is too large."},
    S3Error{400, "BadDigest", "The body has another checksum."},
    S3Error{400, "InvalidDigest", "Content-MD5 is not valid."},
    S3Error{400, "XAmzContentSHA256Mismatch", "The body has another hash than was signed."},
    S3Error{400, "IncompleteBody", "The body is not of the length that was announced."},
    S3Error{400, "InvalidArgument", "An argument is not valid."},
    S3Error{400, "MalformedXML", "The body is not such a document."},
    S3Error{400, "KeyTooLongError", "The key is too long."},
    S3Error{411, "MissingContentLength", "The body has no length."},
    S3Error{503, "SlowDown", "Try again in a moment."},
};

constexpr std::array kOwn{&s3::kAccessDenied, &s3::kBadHeader,      &s3::kUnknownKey,
                          &s3::kBadToken,     &s3::kExpired,        &s3::kBadSignature,
                          &s3::kSkewed,       &s3::kInvalidRequest, &s3::kNotImplemented,
                          &s3::kBadDigest,    &s3::kIncompleteBody, &s3::kNoLength,
                          &s3::kTooLarge,     &s3::kTimeout,        &s3::kBusy,
                          &s3::kUnavailable,  &s3::kInternal};

ErrorKind kind_of(unsigned status) {
  switch (status) {
    case 403: return ErrorKind::kForbidden;
    case 500: return ErrorKind::kInternal;
    case 501: return ErrorKind::kUnsupported;
    case 503: return ErrorKind::kUnavailable;
    default: return ErrorKind::kInvalid;
  }
}

}  // namespace

base::Error refuse(const S3Error& row, std::string why) {
  return base::fail(kind_of(row.status), std::string(row.message))
      .with_reason(row.code)
      .with_detail(std::move(why));
}

const S3Error& row_of(const base::Error& error) {
  auto own = std::ranges::find(kOwn, error.reason(), &S3Error::code);
  if (own != kOwn.end()) return **own;
  switch (error.kind()) {
    case ErrorKind::kForbidden:
    case ErrorKind::kUnauthenticated:
    // A table that is gone is not told from one that its key no longer opens.
    case ErrorKind::kNotFound: return s3::kAccessDenied;
    case ErrorKind::kInvalid: return s3::kInvalidRequest;
    case ErrorKind::kUnsupported: return s3::kNotImplemented;
    case ErrorKind::kTooLarge: return s3::kTooLarge;
    case ErrorKind::kRateLimited: return s3::kBusy;
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kConflict:
    case ErrorKind::kCancelled:
    case ErrorKind::kOutcomeUnknown: return s3::kUnavailable;
    default: return s3::kInternal;
  }
}

const S3Error* passed_on(std::string_view code) {
  auto row = std::ranges::find(kPassedOn, code, &S3Error::code);
  return row != kPassedOn.end() ? &*row : nullptr;
}

const S3Error& row_of_status(unsigned status) {
  for (const S3Error& row : kPassedOn) {
    // Each of these statuses says it all.
    const bool clear = status == 304 || status == 404 || status == 412 || status == 416;
    if (clear && row.status == status) return row;
  }
  if (status == 400) return s3::kInvalidRequest;
  // 401 and 403 are between the store and us.
  return status == 429 || status >= 500 ? s3::kUnavailable : s3::kInternal;
}

base::http::Response to_response(const S3Error& row, std::string_view request_id) {
  base::http::Response response;
  response.status = row.status;
  response.headers.add("Content-Type", "application/xml");
  response.headers.add("x-amz-request-id", std::string(request_id));
  if (row.status == 503) response.headers.add("Retry-After", "1");
  response.body = base::http::Body(
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code>"
                  "<Message>{}</Message><RequestId>{}</RequestId></Error>",
                  row.code, row.message, request_id));
  return response;
}

}  // namespace lake::gateway
