#include "toolserver/mcp_bridge/loop_sessions.h"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <utility>

namespace tool::bridge {

namespace asio = boost::asio;

base::Result<std::shared_ptr<LoopSession>> LoopSession::create(const AgreedServer& server,
                                                               std::int64_t last_id,
                                                               asio::any_io_executor loop) {
  std::shared_ptr<LoopSession> made(new LoopSession());
  made->unasked_.lists_changed = server.lists_changed;
  // Not called once the link is closed, which is before this is gone.
  LinkEvents events;
  events.notified = [unasked = &made->unasked_](const mcp::Notification& one) {
    unasked->take(one);
  };
  events.closed = [own = made.get(), closed = server.closed](std::string reason) {
    own->closed_ = true;
    closed(std::move(reason));
  };
  ASSIGN_OR_RETURN(made->link_, HttpLink::create(server.link, std::move(events), std::move(loop)));
  SessionOptions options = server.session;
  options.last_id = last_id;
  made->session_ =
      ServerSession::of_agreed(*made->link_, made->unasked_, std::move(options), server.revision);
  return made;
}

// Only on its own loop can a link be closed.
LoopSessions::~LoopSessions() {
  for (auto& [context, one] : sessions_) {
    asio::post(one.loop, [session = std::move(one.session)] {});
  }
}

base::Result<std::shared_ptr<LoopSession>> LoopSessions::of(const asio::any_io_executor& loop) {
  const void* context = &asio::query(loop, asio::execution::context);
  std::lock_guard held(mutex_);
  if (auto found = sessions_.find(context); found != sessions_.end()) return found->second.session;
  // The bridge's own session has the ids from 0 on.
  auto last_id = static_cast<std::int64_t>(sessions_.size() + 1) * kIdsOfOne;
  ASSIGN_OR_RETURN(auto made, LoopSession::create(server_, last_id, loop));
  sessions_.emplace(context, OfLoop{loop, made});
  return made;
}

}  // namespace tool::bridge
