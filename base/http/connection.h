#pragma once

// One client on one socket: reads requests, hands them to the lane's handler
// one at a time and writes the answers in order.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>

#include "base/http/lane.h"

namespace boost::asio::ssl {
class context;
}

namespace base::http {

/// The executor's type is spelled out: a type-erased one costs an allocation
/// and indirect calls for each operation.
using ServerSocket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

/// Whether a connection is served, or told 503 since there are too many.
enum class Admission : std::uint8_t { kServe, kRefuse };

/// Runs a connection on the lane's worker until it ends, which takes it out of
/// lane.connections(): the caller has entered it there. Both may be called from
/// any thread; `socket` belongs to the lane's loop.
void run_plain_connection(Lane& lane, ServerSocket socket, Admission admission);
/// `tls` outlives the connection. A refused client is not worth a handshake:
/// its connection is closed without an answer.
void run_tls_connection(Lane& lane, ServerSocket socket, Admission admission,
                        boost::asio::ssl::context& tls);

}  // namespace base::http
