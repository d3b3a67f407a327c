#include "base/http/admission_control.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/http/lane.h"

namespace base::http {
namespace {

// A network gives one customer 2^64 addresses of IPv6: the first half names
// the customer. A mapped address of IPv4 is one of IPv4.
std::string name_of(boost::asio::ip::address address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
  }
  if (address.is_v4()) {
    auto bytes = address.to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  auto bytes = address.to_v6().to_bytes();
  return {bytes.begin(), bytes.begin() + bytes.size() / 2};
}

}  // namespace

AdmissionControl::Rank AdmissionControl::Group::rank() const {
  auto oldest = strangers.front()->arrival_;
  return {strangers.size(), std::numeric_limits<std::uint64_t>::max() - oldest,
          const_cast<Group*>(this)};
}

AdmissionControl::Decision AdmissionControl::admit(const boost::asio::ip::address& peer,
                                                   Lane& lane) {
  std::lock_guard lock(mutex_);
  std::string name = name_of(peer);
  Group& group = groups_[name];
  group.address = std::move(name);
  Decision decision;
  bool address_full = group.connections >= limits_.of_address;
  if (address_full || connections_ >= limits_.connections || strangers_ >= limits_.strangers) {
    Group* crowd = address_full ? &group : fullest();
    if (limits_.when_full == WhenFull::kRefuse || crowd == nullptr || crowd->strangers.empty()) {
      forget_if_empty(group);
      return decision;
    }
    decision.replaced = take_oldest(*crowd);
    if (crowd != &group) forget_if_empty(*crowd);
  }
  decision.place = std::make_shared<Place>(*this, group, arrivals_++, lane);
  enter(*decision.place);
  return decision;
}

std::size_t AdmissionControl::count() const {
  std::lock_guard lock(mutex_);
  return connections_;
}

void AdmissionControl::set_limits(const AdmissionLimits& limits) {
  std::lock_guard lock(mutex_);
  limits_ = limits;
}

AdmissionControl::Group* AdmissionControl::fullest() {
  return crowds_.empty() ? nullptr : std::get<Group*>(*crowds_.rbegin());
}

void AdmissionControl::enter(Place& place) {
  Group& group = place.group_;
  if (!group.strangers.empty()) crowds_.erase(group.rank());
  place.among_strangers_ = group.strangers.insert(group.strangers.end(), &place);
  crowds_.insert(group.rank());
  ++group.connections;
  ++connections_;
  ++strangers_;
}

// Null when it ends by itself just now.
std::shared_ptr<AdmissionControl::Place> AdmissionControl::take_oldest(Group& crowd) {
  Place& oldest = *crowd.strangers.front();
  auto held = oldest.weak_from_this().lock();
  leave(oldest);
  return held;
}

void AdmissionControl::leave_strangers(Place& place) {
  if (!std::exchange(place.stranger_, false)) return;
  Group& group = place.group_;
  crowds_.erase(group.rank());
  group.strangers.erase(place.among_strangers_);
  if (!group.strangers.empty()) crowds_.insert(group.rank());
  --strangers_;
}

void AdmissionControl::leave(Place& place) {
  if (!std::exchange(place.counted_, false)) return;
  leave_strangers(place);
  --place.group_.connections;
  --connections_;
}

void AdmissionControl::forget_if_empty(Group& group) {
  if (group.connections == 0) groups_.erase(std::string(group.address));
}

void AdmissionControl::vouch(Place& place) {
  std::lock_guard lock(mutex_);
  leave_strangers(place);
}

void AdmissionControl::leave_for_good(Place& place) {
  std::lock_guard lock(mutex_);
  if (!place.counted_) return;
  leave(place);
  forget_if_empty(place.group_);
}

void AdmissionControl::Place::close() {
  closed_ = true;
  if (member_ != nullptr) member_->close_now();
}

}  // namespace base::http
