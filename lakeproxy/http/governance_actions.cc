#include "lakeproxy/delegation/access_delegation.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {
namespace {

namespace json = base::json;

base::http::Response done(std::string_view status, const std::string& access_key) {
  return json_response(
      200, json::Value(json::Object{{"status", status}, {"access-key-id", access_key}}));
}

ducklake::StaticKeys keys_of(const Call& call) {
  return call.catalog()->delegation->static_keys(*call.catalog());
}

}  // namespace

base::Result<PutStaticKey> put_static_key_of(const Call& call) {
  ASSIGN_OR_RETURN(auto body, body_of(call));
  ASSIGN_OR_RETURN(auto key, ducklake::static_key_from_json(body));
  return PutStaticKey{std::move(key)};
}

ActionResult put_static_key(RequestContext context, Call* call, Authorized<PutStaticKey> request) {
  ducklake::StaticKeys keys = keys_of(*call);
  CO_RETURN_IF_ERROR(co_await keys.put(context, request->key));
  co_return done("created", request->key.access_key);
}

base::Result<ListStaticKeys> list_static_keys_of(const Call&) { return ListStaticKeys{}; }

ActionResult list_static_keys(RequestContext context, Call* call, Authorized<ListStaticKeys>) {
  ducklake::StaticKeys keys = keys_of(*call);
  CO_ASSIGN_OR_RETURN(auto all, co_await keys.list(context));
  json::Array listed;
  for (const auto& key : all) listed.push_back(to_json(key));
  co_return json_response(200, json::Value(json::Object{{"static-s3-keys", std::move(listed)}}));
}

base::Result<RemoveStaticKey> remove_static_key_of(const Call& call) {
  return RemoveStaticKey{call.parameter("key")};
}

ActionResult remove_static_key(RequestContext context, Call* call,
                               Authorized<RemoveStaticKey> request) {
  ducklake::StaticKeys keys = keys_of(*call);
  CO_RETURN_IF_ERROR(co_await keys.remove(context, request->access_key));
  co_return done("deleted", request->access_key);
}

}  // namespace lake::http
