#include "toolserver/mcp_ingress/http_streams.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "toolserver/mcp_ingress/feed.h"

namespace tool::mcp_ingress {
namespace {

namespace asio = boost::asio;
namespace http = base::http;
namespace json = base::json;
namespace method = mcp::method;

// What a stream is made of while it is open.
struct Opened {
  std::shared_ptr<Feed> feed;
  std::string last;  ///< Said when the server ends it; or empty.
  std::unique_ptr<transport::ConnectionCounts::Place> place;
  std::unique_ptr<transport::OpenSessions::Entry> entry;
  std::unique_ptr<Changes::Listener> listener;
  std::optional<asio::steady_timer> expiry;

  void finish() {
    if (!last.empty()) feed->push(std::exchange(last, {}));
    feed->end();
  }
};

// From any thread, and after the stream has ended.
std::function<void()> finisher(const std::shared_ptr<Opened>& opened) {
  return [loop = opened->feed->loop(), weak = std::weak_ptr(opened)] {
    asio::post(loop, [weak] {
      if (auto stream = weak.lock()) stream->finish();
    });
  };
}

base::Task<void> serve(std::shared_ptr<Opened> opened, http::ByteStream& stream,
                       std::chrono::milliseconds keep_alive) {
  stream.vouch();
  stream.on_drain(finisher(opened));
  co_await send_events(opened->feed, stream, keep_alive);
}

std::string_view method_of(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::kTools: return method::kToolsChanged;
    case Change::Kind::kPrompts: return method::kPromptsChanged;
    case Change::Kind::kResources: return method::kResourcesChanged;
    case Change::Kind::kResource: break;
    case Change::Kind::kTask: return method::kTaskChanged;
  }
  return method::kResourceUpdated;
}

json::Object params_of(const Change& change) {
  json::Object params;
  if (change.kind == Change::Kind::kResource) params["uri"] = change.uri;
  return params;
}

bool is_wanted(const ListenFilter& filter, const Change& change) {
  switch (change.kind) {
    case Change::Kind::kTools: return filter.tools;
    case Change::Kind::kPrompts: return filter.prompts;
    case Change::Kind::kResources: return filter.resources;
    case Change::Kind::kTask:
      return std::ranges::find(filter.tasks, change.uri) != filter.tasks.end();
    case Change::Kind::kResource: break;
  }
  return std::ranges::find(filter.uris, change.uri) != filter.uris.end();
}

void push_to(const std::shared_ptr<Feed>& feed, std::string message) {
  asio::post(feed->loop(), [weak = std::weak_ptr(feed), message = std::move(message)] {
    if (auto open = weak.lock()) open->push_if_room(message);
  });
}

// As the task is when its turn comes, so that the last word of it is the last.
void push_task_to(const std::shared_ptr<Feed>& feed, const Dispatcher& dispatcher, Caller caller,
                  std::string id, json::Object tag) {
  asio::post(feed->loop(), [weak = std::weak_ptr(feed), &dispatcher, caller = std::move(caller),
                            id = std::move(id), tag = std::move(tag)] {
    auto open = weak.lock();
    auto news = open ? dispatcher.task_news(*caller, id) : std::nullopt;
    if (!news) return;
    news->params["_meta"] = tag;
    open->push_if_room(mcp::write(std::move(*news)));
  });
}

// Whoever may not hold a connection more may not hold a stream more.
Outcome<std::shared_ptr<Opened>> open(const HttpServices& services, const StreamOpener& opener,
                                      const std::string& id) {
  auto place = services.counts.enter(*opener.caller);
  if (!place) return std::move(place).error();
  auto opened = std::make_shared<Opened>();
  opened->feed = std::make_shared<Feed>(opener.loop);
  opened->place = std::move(*place);
  auto end = finisher(opened);
  // After a change of the rules the client comes again, and is asked who it is.
  opened->entry = std::make_unique<transport::OpenSessions::Entry>(
      services.open,
      transport::OpenSession{id, opener.caller->subject, opener.caller->issuer,
                             opener.caller->token_id, opener.caller->method, opener.peer,
                             services.clock.now()},
      transport::SessionControl{[end](Code) { end(); }, end});
  constexpr std::chrono::hours kMost{24};
  auto left =
      std::min<std::chrono::microseconds>(opener.caller->expires_at - services.clock.now(), kMost);
  opened->expiry.emplace(opener.loop, left);
  opened->expiry->async_wait([end](boost::system::error_code error) {
    if (!error) end();
  });
  return opened;
}

http::Response stream_of(const HttpServices& services, std::shared_ptr<Opened> opened) {
  http::Response response = events_response();
  response.stream = [opened = std::move(opened), keep_alive = services.options.keep_alive](
                        http::ByteStream& stream, std::string_view) {
    return serve(opened, stream, keep_alive);
  };
  return response;
}

http::Response too_many(const Fault& fault) {
  auto response = plain_error(429, fault.message);
  response.headers.add("Retry-After", "5");
  return response;
}

}  // namespace

http::Response events_response() {
  http::Response response;
  response.headers.add("Content-Type", "text/event-stream");
  response.headers.add("Cache-Control", "no-cache, no-transform");
  response.headers.add("X-Accel-Buffering", "no");
  return response;
}

http::Response open_listening(const HttpServices& services, StreamOpener opener, mcp::RequestId id,
                              ListenFilter filter) {
  auto opened = open(services, opener, "mcp:listen");
  if (!opened) return too_many(opened.error());
  json::Object tag{{mcp::meta::kSubscriptionId, mcp::to_json(id)}};
  auto& feed = (*opened)->feed;
  feed->push(mcp::write(mcp::Notification{std::string(method::kAcknowledged),
                                          {{"_meta", tag}, {"notifications", filter.to_json()}}}));
  (*opened)->last = mcp::write(mcp::Answer{id, services.dispatcher.listen_end(id)});
  (*opened)->listener = std::make_unique<Changes::Listener>(
      services.changes, [feed, filter = std::move(filter), tag, caller = opener.caller,
                         &dispatcher = services.dispatcher](const Change& change) {
        if (!is_wanted(filter, change)) return;
        if (change.kind == Change::Kind::kTask) {
          return push_task_to(feed, dispatcher, caller, change.uri, tag);
        }
        json::Object params = params_of(change);
        params["_meta"] = tag;
        push_to(feed, mcp::write(mcp::Notification{std::string(method_of(change.kind)),
                                                   std::move(params)}));
      });
  return stream_of(services, std::move(*opened));
}

http::Response open_session_stream(const HttpServices& services, StreamOpener opener,
                                   std::shared_ptr<ClientSession> session) {
  auto opened = open(services, opener, "mcp:" + session->facts().id);
  if (!opened) return too_many(opened.error());
  auto& feed = (*opened)->feed;
  (*opened)->listener = std::make_unique<Changes::Listener>(
      services.changes, [feed, session = std::move(session)](const Change& change) {
        if (change.kind == Change::Kind::kTask) return;
        bool is_update = change.kind == Change::Kind::kResource;
        if (is_update && !session->is_subscribed(change.uri)) return;
        push_to(feed, mcp::write(mcp::Notification{std::string(method_of(change.kind)),
                                                   params_of(change)}));
      });
  return stream_of(services, std::move(*opened));
}

}  // namespace tool::mcp_ingress
