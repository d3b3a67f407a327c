#pragma once

// Nodes that know each other: by key, or by the shared secret alone.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "toolserver/federation/proof/forwarding.h"
#include "toolserver/model/digest.h"

namespace tool::federation::testing {

struct FixedClock {
  base::WallTime now{std::chrono::seconds(1'795'251'600)};
};

/// Counts, so that ids differ and tests do not.
class CountingRandom final : public base::Random {
 public:
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(next_++);
  }

 private:
  unsigned next_ = 1;
};

inline const base::crypto::SigningKey& key_of(const std::string& node) {
  static std::map<std::string, base::crypto::SigningKey> keys;
  auto found = keys.find(node);
  if (found == keys.end()) {
    auto made = base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519);
    found = keys.emplace(node, std::move(made)).first;
  }
  return found->second;
}

enum class Known : std::uint8_t { kByKey, kBySecret };

inline const base::Secret kSecret("a-shared-secret-of-good-length-42");

/// `node`, which knows `others`.
inline std::unique_ptr<NodeKeys> node(const std::string& name, std::vector<std::string> others,
                                      Known known = Known::kByKey) {
  OwnKeys own{.node_id = name, .key = std::nullopt, .secret = kSecret, .salt = base::Secret()};
  if (known == Known::kByKey) own.key = key_of(name);
  auto keys = NodeKeys::create(std::move(own)).value();
  for (const auto& other : others) {
    std::optional<base::crypto::VerifyKey> key;
    if (known == Known::kByKey) key = key_of(other).verify_key();
    EXPECT_TRUE(keys->add(other, key));
  }
  return keys;
}

inline const std::string kRequest = "01JD0000000000000000000001";
inline const std::string kSession = "01JD0000000000000000000002";

/// A call of alice, whom node-a knows, with `args`; `forwarded` as it came here.
inline Invocation call_of(const base::json::Object& args,
                          std::shared_ptr<const Forwarded> forwarded = nullptr) {
  Invocation call{.tool = ToolId::parse("node-b.sql_query").value()};
  call.request_id = kRequest;
  Principal principal;
  principal.subject = "alice";
  principal.issuer = "https://idp.example";
  call.principal = std::make_shared<const Principal>(std::move(principal));
  call.args = args;
  call.args_hash = args_digest(args).value();
  call.forwarded = std::move(forwarded);
  return call;
}

inline std::string code_of(const auto& outcome) {
  return outcome ? "ok" : std::string(name(outcome.error().code));
}

}  // namespace tool::federation::testing
