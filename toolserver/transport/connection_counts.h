#pragma once

// How many connections each principal has. Who has not authenticated is counted
// where connections are accepted (base/http/admission_control.h).
// Source: docs/wire-3.0.md, section 12.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"

namespace tool::transport {

/// Safe to call from any thread; a lock is held for a few look-ups.
class ConnectionCounts {
 public:
  explicit ConnectionCounts(std::size_t of_principal) : of_principal_(of_principal) {}

  /// A connection of a principal; gives its place back when it ends. Outlived
  /// by the counts.
  class Place {
   public:
    Place(ConnectionCounts& counts, std::string principal)
        : counts_(counts), principal_(std::move(principal)) {}
    ~Place() { counts_.leave(principal_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    ConnectionCounts& counts_;
    const std::string principal_;
  };

  /// Subjects of two issuers are two principals.
  /// Errors: E_BUSY  the principal has as many as it may.
  [[nodiscard]] Outcome<std::unique_ptr<Place>> enter(const Principal& principal);

  /// For connections from here on; those that are open stay.
  void set_limit(std::size_t of_principal);

 private:
  void leave(const std::string& principal);

  std::mutex mutex_;
  // All guarded by mutex_.
  std::size_t of_principal_;
  std::unordered_map<std::string, std::size_t> counts_;
};

}  // namespace tool::transport
