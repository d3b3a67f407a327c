#include "toolserver/transport/reconnections.h"

#include <algorithm>
#include <utility>

namespace tool::transport {

void Reconnections::make_room(const Followed& session, base::WallTime now) {
  std::erase_if(kept_,
                [&](const Followed& one) { return one.id == session.id || one.until <= now; });
  auto is_theirs = [&](const Followed& one) {
    return one.subject == session.subject && one.issuer == session.issuer;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(kept_, is_theirs)) >= kOfPrincipal) {
    kept_.erase(std::ranges::find_if(kept_, is_theirs));
  }
  if (kept_.size() >= kAll) kept_.pop_front();
}

void Reconnections::keep(Followed session, base::WallTime now) {
  std::lock_guard lock(mutex_);
  make_room(session, now);
  kept_.push_back(std::move(session));
}

void Reconnections::forget(std::string_view id) {
  forget_if([&](const Followed& one) { return one.id == id; });
}

void Reconnections::forget_if(const std::function<bool(const Followed&)>& chosen) {
  std::lock_guard lock(mutex_);
  std::erase_if(kept_, chosen);
}

std::optional<Followed> Reconnections::take(const session::FormerSession& token,
                                            base::WallTime now) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(kept_, token.id, &Followed::id);
  if (found == kept_.end() || found->token_id != token.token_id || found->key != token.holder ||
      found->until <= now) {
    return std::nullopt;
  }
  Followed session = std::move(*found);
  kept_.erase(found);
  return session;
}

}  // namespace tool::transport
