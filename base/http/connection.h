#pragma once

// One client on one socket: reads requests, hands them to the lane's handler
// one at a time and writes the answers in order.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "base/http/admission_control.h"
#include "base/http/lane.h"

namespace boost::asio::ssl {
class context;
}

namespace base::http {

/// The executor's type is spelled out: a type-erased one costs an allocation
/// and indirect calls for each operation.
using ServerSocket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

/// The place of a connection that is served; null for one that is told 503,
/// since there are too many.
using AdmittedPlace = std::shared_ptr<AdmissionControl::Place>;

/// Runs a connection on the lane's worker until it ends, which takes it out of
/// lane.connections(): the caller has entered it there. Both may be called from
/// any thread; `socket` belongs to the lane's loop.
void run_plain_connection(Lane& lane, ServerSocket socket, AdmittedPlace place);
/// The connection keeps what it needs of `tls`. A refused client is not worth a handshake:
/// its connection is closed without an answer.
void run_tls_connection(Lane& lane, ServerSocket socket, AdmittedPlace place,
                        boost::asio::ssl::context& tls);

}  // namespace base::http
