#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto/encoding.h"
#include "base/json/json.h"
#include "toolserver/discovery/consul.h"
#include "toolserver/discovery/etcd.h"

// The answers of etcd as etcd 3.4 writes them; those of Consul as Consul 1.22 does, cut to
// the fields that are read.

namespace tool::discovery {
namespace {

namespace json = base::json;
using base::ErrorKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json::Value value(std::string_view text) { return json::parse(text).value(); }

Found consul(std::string_view text) { return read_consul(value(text), Plain::kRefused).value(); }

TEST(ConsulAnswer, names_a_node_by_its_metadata) {
  auto found = consul(R"([{"Node":{"ID":"x","Node":"machine","Address":"192.0.2.9"},
    "Service":{"ID":"scp-node-b","Service":"scp","Tags":[],"Address":"b.example","Port":7443,
      "Meta":{"node_id":"node-b","endpoint":"wss://b.example:7443"},"Weights":{"Passing":1,"Warning":1}},
    "Checks":[{"CheckID":"service:scp-node-b","Status":"passing"}]}])");
  EXPECT_THAT(found.left_out, IsEmpty());
  EXPECT_THAT(found.nodes.at("node-b"), ElementsAre(Way{"wss://b.example:7443", ""}));
}

TEST(ConsulAnswer, has_the_address_of_the_service_or_of_its_machine) {
  auto found = consul(R"([
    {"Node":{"Address":"192.0.2.9"},"Service":{"Address":"","Port":1,"Meta":{"node_id":"b"}}},
    {"Node":{"Address":"192.0.2.9"},"Service":{"Address":"c.example","Port":2,"Meta":{"node_id":"c"}}}])");
  EXPECT_THAT(found.nodes.at("b"), ElementsAre(Way{"wss://192.0.2.9:1", ""}));
  EXPECT_THAT(found.nodes.at("c"), ElementsAre(Way{"wss://c.example:2", ""}));
}

TEST(ConsulAnswer, leaves_out_what_breaks_a_rule) {
  auto found = consul(R"([7, {}, {"Service":{}}, {"Service":{"ID":"other","Meta":{},"Port":1}},
    {"Service":{"Meta":{"node_id":"../b"},"Address":"b.example","Port":1}},
    {"Service":{"Meta":{"node_id":"b"},"Address":"b.example","Port":0}},
    {"Service":{"Meta":{"node_id":"b"},"Address":"b.example","Port":65536}},
    {"Service":{"Meta":{"node_id":"b"},"Address":"b e","Port":1}},
    {"Node":7,"Service":{"Meta":{"node_id":"b"},"Port":1}},
    {"Service":{"Meta":{"node_id":"b","endpoint":"http://b.example:1"}}},
    {"Service":{"Meta":{"node_id":"b","endpoint":"ws://127.0.0.1:1"}}}])");
  EXPECT_THAT(found.nodes, IsEmpty());
  EXPECT_THAT(found.left_out, SizeIs(11));
  EXPECT_EQ(found.left_out[3].what, "other");
  EXPECT_EQ(read_consul(value("{}"), Plain::kRefused).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(read_consul(nullptr, Plain::kRefused).error().kind(), ErrorKind::kInvalid);
}

RegistryClient::Answer filtered(std::string_view text, std::string_view by_acls) {
  RegistryClient::Answer out{.headers = {}, .body = value(text)};
  if (!by_acls.empty()) out.headers.add("x-consul-results-filtered-by-acls", std::string(by_acls));
  return out;
}

TEST(ConsulAnswer, is_partial_when_instances_were_hidden_and_refused_when_all_were) {
  constexpr std::string_view kOne =
      R"([{"Service":{"Port":1,"Meta":{"node_id":"b","endpoint":"wss://b.example:1"}}}])";
  auto partial = read_consul(filtered(kOne, "true"), Plain::kRefused).value();
  EXPECT_THAT(partial.nodes, SizeIs(1));
  EXPECT_THAT(partial.partial, ::testing::HasSubstr("cluster.discovery_config.token"));
  auto refused = read_consul(filtered("[]", "true"), Plain::kRefused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kForbidden);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("cluster.discovery_config.token"));

  for (const char* whole : {"", "false"}) {
    EXPECT_EQ(read_consul(filtered(kOne, whole), Plain::kRefused)->partial, "");
    EXPECT_THAT(read_consul(filtered("[]", whole), Plain::kRefused)->nodes, IsEmpty());
  }
  EXPECT_EQ(read_consul(filtered("{}", "true"), Plain::kRefused).error().kind(),
            ErrorKind::kInvalid);
}

json::Object entry(std::string_view key, std::string_view text) {
  return {{"key", base::crypto::to_base64(key)},
          {"create_revision", "2"},
          {"mod_revision", "2"},
          {"version", "1"},
          {"value", base::crypto::to_base64(text)},
          {"lease", "7587848390041110533"}};
}

json::Value etcd_answer(json::Array entries) {
  json::Object header{
      {"cluster_id", "1"}, {"member_id", "2"}, {"revision", "12"}, {"raft_term", "2"}};
  return json::Object{{"header", std::move(header)}, {"kvs", std::move(entries)}, {"count", "1"}};
}

TEST(EtcdAnswer, names_a_node_by_what_is_behind_the_prefix) {
  auto read =
      read_etcd(etcd_answer({entry("scp/node-b", R"({"endpoint":"wss://b.example:7443"})")}),
                "scp/", Plain::kRefused);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->revision, 12);
  EXPECT_THAT(read->found.nodes.at("node-b"), ElementsAre(Way{"wss://b.example:7443", ""}));
  EXPECT_THAT(read->found.left_out, IsEmpty());
  // Without keys etcd leaves the list away.
  auto none = read_etcd(value(R"({"header":{"revision":"3"}})"), "scp/", Plain::kRefused);
  ASSERT_TRUE(none);
  EXPECT_THAT(none->found.nodes, IsEmpty());
}

TEST(EtcdAnswer, leaves_out_what_breaks_a_rule) {
  std::string good = R"({"endpoint":"wss://b.example:7443"})";
  json::Array entries{entry("other/node-b", good),
                      entry("scp/", good),
                      entry("scp/a/b", good),
                      entry("scp/b", "wss://b.example"),
                      entry("scp/b", "{}"),
                      entry("scp/b", R"({"endpoint":7})"),
                      entry("scp/b", R"({"endpoint":"http://b.example"})"),
                      entry("scp/b", std::string(5'000, ' ')),
                      7,
                      json::Object{{"key", "!"}},
                      json::Object{{"key", base::crypto::to_base64("scp/b")}}};
  auto read = read_etcd(etcd_answer(entries), "scp/", Plain::kRefused);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->found.nodes, IsEmpty());
  EXPECT_THAT(read->found.left_out, SizeIs(entries.size()));
}

TEST(EtcdAnswer, that_is_none_is_refused) {
  for (const char* text :
       {"null", "[]", "{}", R"({"header":{}})", R"({"header":{"revision":12}})",
        R"({"header":{"revision":"x"}})", R"({"header":{"revision":"1"},"kvs":{}})"}) {
    auto read = read_etcd(value(text), "scp/", Plain::kRefused);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind(), ErrorKind::kInvalid) << text;
  }
}

TEST(EtcdWatch, tells_a_change_from_a_beginning_and_from_a_refusal) {
  EXPECT_EQ(read_watch_line(R"({"result":{"header":{"revision":"3"},"created":true}})"),
            WatchLine::kNothing);
  EXPECT_EQ(read_watch_line(R"({"result":{"header":{"revision":"3"}}})"), WatchLine::kNothing);
  EXPECT_EQ(read_watch_line(
                R"({"result":{"header":{},"events":[{"type":"DELETE","kv":{"key":"eA=="}}]}})"),
            WatchLine::kChange);
  EXPECT_EQ(read_watch_line(R"({"result":{"canceled":true,"compact_revision":"7"}})"),
            WatchLine::kChange);
  EXPECT_EQ(read_watch_line(R"({"result":{"created":true,"canceled":true,
    "cancel_reason":"etcdserver: permission denied"}})"),
            WatchLine::kRefused);
  for (const char* text :
       {"", "7", "{}", "{\"result\":7}", R"({"error":{"grpc_code":14}})", "\xFF"}) {
    EXPECT_EQ(read_watch_line(text), WatchLine::kChange) << text;
  }
}

}  // namespace
}  // namespace tool::discovery
