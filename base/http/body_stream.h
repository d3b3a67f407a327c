#pragma once

// A body that is read a piece at a time, since it is too large to be held. The reader asks for each
// piece, so whoever sends more than is read has to wait: that is all the back-pressure there is,
// and it reaches from one socket to the next.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/core/result.h"
#include "base/http/message.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base::http {

/// Belongs to one event loop. One read at a time.
class BodySource {
 public:
  virtual ~BodySource() = default;

  /// Waits for at least one byte and reads at most into.size(), which is at least 1; 0 once the
  /// body has ended, whole. `into` lives until the call has returned. After an error there is
  /// nothing more to read.
  /// Errors: kUnavailable  the peer went away before the end;
  ///         kTimeout  nothing came for as long as its owner waits;
  ///         kInvalid  its coding is broken, or the body is not what was announced;
  ///         kTooLarge  over a bound; kCancelled.
  [[nodiscard]] virtual Task<Result<std::size_t>> read(std::span<char> into) = 0;
  /// The same into an empty pipe, by splice(): the bytes are not copied. Nothing where that cannot
  /// be done now, and read() is to be asked.
  [[nodiscard]] virtual Task<Result<std::optional<std::size_t>>> splice_into(int /*pipe*/,
                                                                             std::size_t /*most*/) {
    co_return std::optional<std::size_t>();
  }
};

struct BodyStream {
  std::shared_ptr<BodySource> source;   ///< Null: there is no body.
  std::optional<std::uint64_t> length;  ///< Where it is known before the body is read.
};

/// A request whose head has been received.
struct StreamedRequest {
  Request head;  ///< Without a body.
  /// Ends with the answer: what is read later is an error. A client that waits for "100 Continue"
  /// gets it with the first read. What is left unread costs the client its connection.
  BodyStream body;
};

struct StreamedResponse {
  Response head;  ///< Its body is sent where `body` has no source. No upgrades.
  /// Of a response to HEAD only the length is sent.
  BodyStream body = {};
};

/// As Handler, for bodies of any size: the request's deadline holds for the answer too, and a
/// source of the answer that fails makes the connection break off, so that no client takes a part
/// for the whole.
using StreamHandler = std::function<Task<StreamedResponse>(RequestContext, StreamedRequest)>;

/// Bytes that are moved at a time.
inline constexpr std::size_t kStreamStep = 256 * 1024;
/// The same by splice(), and how long a body must be at least.
inline constexpr std::size_t kSpliceStep = 1024 * 1024;

}  // namespace base::http
