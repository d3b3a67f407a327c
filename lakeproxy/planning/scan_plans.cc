#include "lakeproxy/planning/scan_plans.h"

#include <algorithm>

#include "base/core/text.h"

namespace lake::planning {
namespace {

// A UUID's text, '.', and the number of a page.
constexpr std::size_t kIdLength = 36;
constexpr std::size_t kMostDigits = 9;

}  // namespace

void ScanPlans::drop(Order::iterator kept) {
  bytes_ -= kept->bytes;
  order_.erase(kept);
}

void ScanPlans::drop_old() {
  const base::WallTime now = clock_->now();
  while (!order_.empty() && order_.front().end <= now) drop(order_.begin());
}

bool ScanPlans::make_room(const std::string& owner, std::size_t bytes) {
  auto has_room = [&] {
    return order_.empty() || (order_.size() < limits_.plans && bytes_ + bytes <= limits_.bytes);
  };
  auto is_told = [](const Kept& kept) { return kept.plan->pages() == 1; };
  auto is_own = [&](const Kept& kept) { return kept.owner == owner; };
  while (!has_room()) {
    auto goes = std::ranges::find_if(order_, is_told);
    if (goes == order_.end()) goes = std::ranges::find_if(order_, is_own);
    if (goes == order_.end()) return false;
    drop(goes);
  }
  return true;
}

base::Result<std::string> ScanPlans::add(const std::string& owner, ScanPlanPtr plan) {
  const std::size_t bytes = plan->bytes() + sizeof(Kept) + owner.size();
  std::lock_guard lock(mutex_);
  drop_old();
  if (!make_room(owner, bytes)) {
    return base::fail(base::ErrorKind::kRateLimited, "too many scans are being planned");
  }
  std::string id = base::to_string(base::make_uuid_v4(*random_));
  order_.push_back({id, owner, std::move(plan), bytes, clock_->now() + limits_.life});
  bytes_ += bytes;
  return id;
}

ScanPlans::Order::iterator ScanPlans::position(const std::string& owner, std::string_view id) {
  drop_old();
  return std::ranges::find_if(
      order_, [&](const Kept& kept) { return kept.id == id && kept.owner == owner; });
}

ScanPlanPtr ScanPlans::find(const std::string& owner, std::string_view id) {
  std::lock_guard lock(mutex_);
  auto found = position(owner, id);
  return found == order_.end() ? nullptr : found->plan;
}

bool ScanPlans::remove(const std::string& owner, std::string_view id) {
  std::lock_guard lock(mutex_);
  auto found = position(owner, id);
  if (found == order_.end()) return false;
  drop(found);
  return true;
}

std::size_t ScanPlans::size() const {
  std::lock_guard lock(mutex_);
  return order_.size();
}

std::string to_string(const PageName& name) {
  return name.plan_id + "." + std::to_string(name.page);
}

std::optional<PageName> parse_page_name(std::string_view text) {
  if (text.size() < kIdLength + 2 || text.size() > kIdLength + 1 + kMostDigits) {
    return std::nullopt;
  }
  if (text[kIdLength] != '.') return std::nullopt;
  auto page = base::parse_int64(text.substr(kIdLength + 1));
  if (!page || *page < 0) return std::nullopt;
  PageName name{std::string(text.substr(0, kIdLength)), static_cast<std::size_t>(*page)};
  if (to_string(name) != text) return std::nullopt;  // Zeros in front.
  return name;
}

}  // namespace lake::planning
