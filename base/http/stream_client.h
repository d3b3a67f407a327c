#pragma once

// The client for bodies of any size.

#include <memory>

#include "base/http/body_stream.h"
#include "base/http/client.h"

namespace base::http {

/// One origin, used from one event loop. Bodies of answers may outlive it.
class StreamClient {
 public:
  /// Of the options, response_time bounds each wait for the server, and body_bytes an answer.
  [[nodiscard]] static std::unique_ptr<StreamClient> create(Origin origin, ClientOptions options);
  virtual ~StreamClient() = default;

  /// Sends `request`, whose own body is sent where `body` has no source, and reads the head of the
  /// answer; any status is a success. The rest is read from the answer's body, which holds the
  /// connection; one that is dropped before its end closes it.
  /// A body of known length is sent to its last piece only when its source has said that it ended
  /// there, so a source can refuse a body by what stands at its end.
  /// A request without a streamed body that finds a kept connection closed is sent again once, if
  /// its method is idempotent.
  /// Errors: those of Client::send; those of the body's source, and kInvalid where it is shorter or
  ///         longer than its length: then the server got no whole request.
  [[nodiscard]] virtual Task<Result<StreamedResponse>> send(RequestContext context,
                                                            ClientRequest request,
                                                            BodyStream body) = 0;
};

}  // namespace base::http
