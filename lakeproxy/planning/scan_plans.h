#pragma once

// The plans that clients may still ask for: bounded in number, bytes and age, each for the one who
// made it.

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "lakeproxy/planning/scan_plan.h"

namespace lake::planning {

struct PlanLimits {
  std::size_t plans = 2000;
  std::size_t bytes = 64UL << 20;  ///< Of all; one plan always fits.
  std::chrono::microseconds life = std::chrono::minutes(10);
};

/// Of the process; safe from any thread. `clock` and `random` outlive it.
class ScanPlans {
 public:
  ScanPlans(const base::Clock& clock, base::Random& random, PlanLimits limits = {})
      : clock_(&clock), random_(&random), limits_(limits) {}

  /// Keeps `plan` for `owner` and gives it an id that nobody can guess. Where there is no room,
  /// plans go that were told whole with their first answer, oldest first, then the owner's own.
  /// Errors: kRateLimited  all room is taken by plans of others that are still being read.
  [[nodiscard]] base::Result<std::string> add(const std::string& owner, ScanPlanPtr plan);
  /// Null: there is none of that id, it was another's, or its time is over.
  [[nodiscard]] ScanPlanPtr find(const std::string& owner, std::string_view id);
  /// Whether it was there.
  bool remove(const std::string& owner, std::string_view id);

  [[nodiscard]] std::size_t size() const;

 private:
  struct Kept {
    std::string id;
    std::string owner;
    ScanPlanPtr plan;
    std::size_t bytes;
    base::WallTime end;
  };
  using Order = std::list<Kept>;

  void drop_old();
  bool make_room(const std::string& owner, std::size_t bytes);
  Order::iterator position(const std::string& owner, std::string_view id);
  void drop(Order::iterator kept);

  const base::Clock* clock_;
  base::Random* random_;
  const PlanLimits limits_;
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;
  Order order_;  ///< Oldest first.
};

/// The name of one page, for fetchScanTasks.
struct PageName {
  std::string plan_id;
  std::size_t page = 0;
};
[[nodiscard]] std::string to_string(const PageName& name);
/// Nothing: no name that to_string() gives.
[[nodiscard]] std::optional<PageName> parse_page_name(std::string_view text);

}  // namespace lake::planning
