#pragma once

// What the gateway refuses, in the form that S3 clients read. The codes are S3's own, since
// clients decide by them whether to ask for new keys, to try again or to give up; the texts are
// ours and the same for everybody, since a store's text repeats what was signed and where.
// Source: Amazon S3 API Reference, "Error responses".

#include <string>
#include <string_view>

#include "base/core/error.h"
#include "base/http/message.h"

namespace lake::gateway {

/// A row of S3's table of errors.
struct S3Error {
  unsigned status;
  std::string_view code;
  std::string_view message;
};

namespace s3 {
inline constexpr S3Error kAccessDenied{403, "AccessDenied", "Access denied."};
inline constexpr S3Error kBadHeader{400, "AuthorizationHeaderMalformed",
                                    "The authorization of the request is malformed."};
inline constexpr S3Error kMissingToken{403, "AccessDenied", "The request is not signed."};
inline constexpr S3Error kUnknownKey{403, "InvalidAccessKeyId", "There is no such access key."};
inline constexpr S3Error kBadToken{400, "InvalidToken", "The session token is not valid."};
inline constexpr S3Error kExpired{400, "ExpiredToken", "The session token has expired."};
inline constexpr S3Error kBadSignature{403, "SignatureDoesNotMatch",
                                       "The signature does not fit the request."};
inline constexpr S3Error kSkewed{403, "RequestTimeTooSkewed",
                                 "The request's time is too far from the server's."};
inline constexpr S3Error kInvalidRequest{400, "InvalidRequest", "The request is not valid."};
inline constexpr S3Error kNotImplemented{501, "NotImplemented", "This is not offered here."};
inline constexpr S3Error kBadDigest{400, "BadDigest", "The body has another checksum."};
inline constexpr S3Error kIncompleteBody{400, "IncompleteBody",
                                         "The body is not of the length that was announced."};
inline constexpr S3Error kBadChunk{403, "SignatureDoesNotMatch",
                                   "The signature of a chunk does not fit."};
inline constexpr S3Error kNoLength{411, "MissingContentLength", "The body has no length."};
inline constexpr S3Error kTooLarge{400, "EntityTooLarge", "The body is too large."};
inline constexpr S3Error kTimeout{400, "RequestTimeout", "The body took too long."};
inline constexpr S3Error kBusy{503, "SlowDown", "Try again in a moment."};
inline constexpr S3Error kUnavailable{503, "ServiceUnavailable", "Try again in a moment."};
inline constexpr S3Error kInternal{500, "InternalError", "The server has failed."};
}  // namespace s3

/// An error that carries the row: reason() is its code. `row` has static storage duration.
/// `why` is for the log alone.
[[nodiscard]] base::Error refuse(const S3Error& row, std::string why = {});
/// The row of an error: of one that refuse() has made its own, else one by its kind.
[[nodiscard]] const S3Error& row_of(const base::Error& error);
/// The row of a code of the store's that is passed on, or null: for what a client has asked for
/// and does not have, never for what the store thinks of us.
[[nodiscard]] const S3Error* passed_on(std::string_view code);
/// The row for an answer of the store without a code, as to HEAD; by its status.
[[nodiscard]] const S3Error& row_of_status(unsigned status);

[[nodiscard]] base::http::Response to_response(const S3Error& row, std::string_view request_id);

}  // namespace lake::gateway
