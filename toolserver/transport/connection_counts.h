#pragma once

// Connections cost memory before anyone has shown a credential. Each is counted
// against the whole service, its address and, once known, its principal; one
// over any of these is refused before it costs more than the counting.
// Source: docs/wire-3.0.md, section 12.

#include <cstddef>
#include <memory>
#include <string>

#include "toolserver/model/fault.h"

namespace tool::transport {

struct ConnectionLimits {
  std::size_t connections = 1024;
  std::size_t of_address = 64;
  std::size_t of_principal = 16;
  std::size_t unauthenticated = 128;
};

/// Safe to call from any thread; a lock is held for a few look-ups.
class ConnectionCounts {
 public:
  explicit ConnectionCounts(ConnectionLimits limits);
  ~ConnectionCounts();

  /// A counted connection; gives its places back when it ends. Outlived by the
  /// counts.
  class Place {
   public:
    Place(ConnectionCounts& counts, std::string address);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Counts it for `subject` from here on, once.
    /// Errors: E_BUSY  the principal has as many as it may.
    [[nodiscard]] Outcome<void> authenticated(const std::string& subject);

   private:
    ConnectionCounts& counts_;
    std::string address_;
    std::string subject_;
    bool known_ = false;
  };

  /// Errors: E_BUSY  over one of the limits; the message does not say which
  ///         other clients there are.
  [[nodiscard]] Outcome<std::unique_ptr<Place>> admit(const std::string& address);

  [[nodiscard]] std::size_t connections() const;
  /// For connections from here on; those that are open stay.
  void set_limits(ConnectionLimits limits);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tool::transport
