#pragma once

// A connection costs memory from the moment it is accepted, long before its
// peer has shown who it is. So it is counted from then on: among all, with
// those of its address, and as a stranger until somebody vouches for it.
// Whoever only waits must not keep others out: where a server is set so, a
// newcomer takes the place of a stranger instead of being refused.

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/http/server.h"

namespace base::http {

class Lane;
class LaneMember;

/// Safe to use from any thread; outlives its places.
class AdmissionControl {
 public:
  explicit AdmissionControl(const AdmissionLimits& limits) : limits_(limits) {}

  class Place;

  struct Decision {
    std::shared_ptr<Place> place;     ///< Null: refused.
    std::shared_ptr<Place> replaced;  ///< To be closed, by Place::close() on its lane.
  };
  [[nodiscard]] Decision admit(const boost::asio::ip::address& peer, Lane& lane);

  /// Places taken.
  [[nodiscard]] std::size_t count() const;
  /// For newcomers from here on; who is admitted stays.
  void set_limits(const AdmissionLimits& limits);

 private:
  struct Group;
  // The last of the set has the most strangers, and among equals the oldest.
  using Rank = std::tuple<std::size_t, std::uint64_t, Group*>;
  // The connections of one address.
  struct Group {
    std::string address;
    std::size_t connections = 0;
    std::list<Place*> strangers;  ///< Oldest first.
    [[nodiscard]] Rank rank() const;
  };

  // Under mutex_:
  [[nodiscard]] Group* fullest();
  void enter(Place& place);
  [[nodiscard]] std::shared_ptr<Place> take_oldest(Group& crowd);
  void leave_strangers(Place& place);
  void leave(Place& place);
  void forget_if_empty(Group& group);

  void vouch(Place& place);
  void leave_for_good(Place& place);

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  AdmissionLimits limits_;
  std::unordered_map<std::string, Group> groups_;
  std::set<Rank> crowds_;  ///< Groups with strangers.
  std::size_t connections_ = 0;
  std::size_t strangers_ = 0;
  std::uint64_t arrivals_ = 0;
};

/// One admitted connection; gives its place back when it is destroyed.
class AdmissionControl::Place : public std::enable_shared_from_this<Place> {
 public:
  Place(AdmissionControl& control, Group& group, std::uint64_t arrival, Lane& lane)
      : control_(control), group_(group), arrival_(arrival), lane_(lane) {}
  ~Place() { control_.leave_for_good(*this); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  /// Somebody vouches for the peer: it is no stranger any more, and nobody
  /// takes its place. From any thread.
  void vouch() { control_.vouch(*this); }

  /// The lane that the connection lives on; the rest is for its thread.
  [[nodiscard]] Lane& lane() const { return lane_; }
  /// What close() closes; null once it has ended.
  void hold(LaneMember* member) { member_ = member; }
  /// Another has the place.
  void close();
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  friend class AdmissionControl;
  AdmissionControl& control_;
  // Guarded by the control's mutex.
  Group& group_;
  const std::uint64_t arrival_;
  bool counted_ = true;
  bool stranger_ = true;
  std::list<Place*>::iterator among_strangers_;

  Lane& lane_;
  LaneMember* member_ = nullptr;
  bool closed_ = false;
};

}  // namespace base::http
