#pragma once

// The requests of a session that have no answer yet. Few at a time, and asked
// for with every message: a short list is the fastest map.
// Source: docs/wire-3.0.md, sections 3 (seq), 9 and 12.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "toolserver/model/ulid.h"

namespace tool::session {

struct Flight {
  Ulid id;
  std::string op;
  std::int64_t next_sequence = 0;  ///< Of the next evt.
};

class Flights {
 public:
  [[nodiscard]] std::size_t size() const { return flights_.size(); }
  /// Valid until the next change; null when there is none.
  [[nodiscard]] Flight* find(const Ulid& id) {
    auto found = std::ranges::find(flights_, id, &Flight::id);
    return found == flights_.end() ? nullptr : &*found;
  }
  /// The id must be new.
  void add(const Ulid& id, std::string op) { flights_.push_back({id, std::move(op)}); }
  void remove(const Ulid& id) {
    auto found = std::ranges::find(flights_, id, &Flight::id);
    if (found == flights_.end()) return;
    std::swap(*found, flights_.back());
    flights_.pop_back();
  }

 private:
  std::vector<Flight> flights_;
};

}  // namespace tool::session
