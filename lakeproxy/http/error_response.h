#pragma once

// The one place where an error becomes a status and a body.
// Source: Iceberg REST description, "IcebergErrorResponse"; specification,
// section 7.

#include <chrono>
#include <string>
#include <string_view>

#include "base/core/error.h"
#include "base/http/message.h"

namespace lake::http {

/// reason() of kInvalid for a body that is well formed and contradicts itself: 422.
inline constexpr std::string_view kUnprocessable = "unprocessable";

/// What a failure means depends on the request: for a commit a 5xx says
/// "unknown", so one that certainly did not happen must not be a 5xx. A refused grant of a token
/// has a body of its own. Source: Iceberg REST description, "OAuthError".
enum class Effect { kRead, kChange, kCommit, kGrant };

[[nodiscard]] base::http::Response error_response(const base::Error& error, Effect effect,
                                                  const std::string& request_id);

/// 429: who asks may ask again after that time.
[[nodiscard]] base::http::Response too_many(std::chrono::seconds wait, std::string_view message);

/// `message` as answers and logs show it: one that holds a long text of a client, a
/// name or a path of megabytes, keeps its beginning and its end, 200 bytes of it.
[[nodiscard]] std::string shown_message(std::string_view message);

/// The answer to a request that reaches no route: by status alone.
[[nodiscard]] base::http::Response refusal(unsigned status, std::string_view message);

}  // namespace lake::http
