#include "toolserver/mcp/message.h"

#include <utility>

#include "toolserver/mcp/revision.h"

namespace tool::mcp {
namespace {

namespace json = base::json;

constexpr std::size_t kIdBytes = 256;
constexpr std::size_t kMethodBytes = 256;

std::unexpected<Unreadable> refuse(int number, std::string message,
                                   std::optional<RequestId> id = std::nullopt) {
  return std::unexpected(Unreadable{{number, std::move(message)}, std::move(id)});
}

std::unexpected<Unreadable> no_request(std::string message, std::optional<RequestId> id) {
  return refuse(code::kInvalidRequest, std::move(message), std::move(id));
}

json::Object head() { return {{"jsonrpc", "2.0"}}; }

// Moves a member that is an object out; an absent one is empty. False: it is
// something else.
bool take_object(json::Object& from, std::string_view member, json::Object& into) {
  auto* found = from.if_contains(member);
  if (found == nullptr) return true;
  if (!found->is_object()) return false;
  into = std::move(found->get_object());
  return true;
}

std::expected<Message, Unreadable> read_call(json::Object& object, std::optional<RequestId> id,
                                             bool has_id) {
  const auto& name = object.at("method");
  if (!name.is_string() || name.get_string().empty() || name.get_string().size() > kMethodBytes) {
    return no_request("method: must be a text of 1 to 256 bytes", std::move(id));
  }
  if (object.contains("result") || object.contains("error")) {
    return no_request("a message is a request or an answer, not both", std::move(id));
  }
  json::Object params;
  std::string method(name.get_string());
  if (!take_object(object, "params", params)) {
    return no_request("params: must be an object", std::move(id));
  }
  if (!has_id) return Message(Notification{std::move(method), std::move(params)});
  return Message(Request{std::move(*id), std::move(method), std::move(params)});
}

std::expected<Message, Unreadable> read_error(json::Object& object, std::optional<RequestId> id) {
  auto& value = object.at("error");
  const json::Object* fields = value.if_object();
  const json::Value* number = fields == nullptr ? nullptr : fields->if_contains("code");
  const json::Value* text = fields == nullptr ? nullptr : fields->if_contains("message");
  bool readable = number != nullptr && number->is_int64() && number->get_int64() >= INT32_MIN &&
                  number->get_int64() <= INT32_MAX && text != nullptr && text->is_string();
  if (!readable) return no_request("error: must have a code and a message", std::move(id));
  RpcError error{static_cast<int>(number->get_int64()), std::string(text->get_string())};
  if (auto* data = value.get_object().if_contains("data")) error.data = std::move(*data);
  return Message(ErrorAnswer{std::move(id), std::move(error)});
}

std::expected<Message, Unreadable> read_answer(json::Object& object, std::optional<RequestId> id) {
  bool has_result = object.contains("result");
  if (has_result == object.contains("error")) {
    return no_request("a message has a method, a result or an error", std::move(id));
  }
  if (!has_result) return read_error(object, std::move(id));
  if (!id) return no_request("id: must be there", std::move(id));
  json::Object result;
  if (!take_object(object, "result", result)) {
    return no_request("result: must be an object", std::move(id));
  }
  return Message(Answer{std::move(*id), std::move(result)});
}

}  // namespace

json::Value to_json(const RequestId& id) {
  if (const auto* number = std::get_if<std::int64_t>(&id)) return *number;
  return boost::json::string(std::get<std::string>(id));
}

std::optional<RequestId> id_of(const json::Value& value) {
  if (value.is_int64()) return RequestId(value.get_int64());
  if (!value.is_string() || value.get_string().size() > kIdBytes) return std::nullopt;
  return RequestId(std::string(value.get_string()));
}

std::expected<Message, Unreadable> parse_message(std::string_view text,
                                                 const MessageBounds& bounds) {
  auto parsed = json::parse(text, {bounds.bytes, bounds.depth, bounds.values});
  if (!parsed) return refuse(code::kParse, parsed.error().message());
  if (parsed->is_array()) return no_request("batches are not taken", std::nullopt);
  if (!parsed->is_object()) return no_request("a message is an object", std::nullopt);
  json::Object& object = parsed->get_object();
  const auto* written_id = object.if_contains("id");
  auto id = written_id == nullptr ? std::nullopt : id_of(*written_id);
  const auto* version = object.if_contains("jsonrpc");
  if (version == nullptr || !version->is_string() || version->get_string() != "2.0") {
    return no_request("jsonrpc: must be \"2.0\"", std::move(id));
  }
  bool is_error = object.contains("error") && !object.contains("method");
  // An error that answers what could not be read has the id null, or none.
  bool may_lack = is_error && (written_id == nullptr || written_id->is_null());
  if (written_id != nullptr && !id && !may_lack) {
    return no_request("id: must be an integer or a text of 256 bytes at most", std::nullopt);
  }
  if (object.contains("method")) return read_call(object, std::move(id), written_id != nullptr);
  return read_answer(object, std::move(id));
}

std::string write(Request request) {
  json::Object out = head();
  out["id"] = to_json(request.id);
  out["method"] = request.method;
  if (!request.params.empty()) out["params"] = std::move(request.params);
  return json::write(json::Value(std::move(out)));
}

std::string write(Notification notification) {
  json::Object out = head();
  out["method"] = notification.method;
  if (!notification.params.empty()) out["params"] = std::move(notification.params);
  return json::write(json::Value(std::move(out)));
}

std::string write(Answer answer) {
  json::Object out = head();
  out["id"] = to_json(answer.id);
  out["result"] = std::move(answer.result);
  return json::write(json::Value(std::move(out)));
}

std::string write(ErrorAnswer answer) {
  json::Object out = head();
  out["id"] = answer.id ? to_json(*answer.id) : json::Value(nullptr);
  json::Object error{{"code", answer.error.code}, {"message", answer.error.message}};
  if (answer.error.data) error["data"] = std::move(*answer.error.data);
  out["error"] = std::move(error);
  return json::write(json::Value(std::move(out)));
}

}  // namespace tool::mcp
