#pragma once

// The server for bodies of any size: one request after another on each connection, as Server has
// it, but its handlers read and give bodies as streams.

#include <memory>
#include <vector>

#include "base/http/body_stream.h"
#include "base/http/server.h"

namespace base::http {

/// As Server::start. Of the limits, body_bytes bounds what a handler may read of a request,
/// body_time and write_time each wait for the client, and request_time is all the time there is for
/// a request, its bodies included.
[[nodiscard]] Result<std::unique_ptr<Server>> start_stream_server(
    ServerOptions options, Workers& workers, std::vector<StreamHandler> handlers, Refusal refusal);

}  // namespace base::http
