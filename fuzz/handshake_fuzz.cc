// Any bytes in place of a message of the handshake, to a server and to a
// client, and after it: neither end has a fault, a client shows no credential,
// and a server asks for no verification. The same bytes as a proof of possession,
// as the proof of a server, and as the claims of a token: what is bound is never
// taken without a proof.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>

#include "toolserver/model/ijson.h"
#include "toolserver/session/client_session.h"
#include "toolserver/session/holder_proof.h"
#include "toolserver/session/server_session.h"

namespace {

using namespace tool::session;

class FixedClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override {
    return base::WallTime(std::chrono::milliseconds(1'795'251'600'000));
  }
};

class CountingRandom final : public base::Random {
 public:
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(next_ = next_ * 167 + 13);
  }

 private:
  unsigned char next_ = 1;
};

Secrets secrets() {
  return {.secret_key = base::Secret("w7Gk2pXv9QzRm4TcLs8YbNd3HfJa6UeB"),
          .api_key = base::Secret("Zr5Xq8Wn2Vb7Mc4Kj9Hg3Fd6Sa1PoIu0"),
          .kdf_salt = base::Secret("kdf-salt-of-the-fuzzer")};
}

// The key of RFC 8037, appendix A.1.
const base::crypto::SigningKey& holder_key() {
  static const auto key = *base::crypto::SigningKey::from_pem(
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
      "-----END PRIVATE KEY-----\n");
  return key;
}

enum class KnownBy { kSecret, kKey };

struct World {
  World(Suite suite, tool::Method method, KnownBy known_by) {
    tool::Mode mode = has_records(suite) ? tool::Mode::kEncrypted : tool::Mode::kSimple;
    server.node_id = "node-b";
    server.cluster = "cluster-1";
    server.mode = client.mode = mode;
    server.suites = client.suites = {suite};
    server.methods = {method, tool::Method::kSession};
    client.method = method;
    client.token = base::Secret("a.b.c");
    client.holder = client.session_key = holder_key();
    if (known_by == KnownBy::kKey) {
      server.node_key = holder_key();
      client.server_keys = {holder_key().thumbprint()};
    }
    server.secrets = client.secrets = secrets();
  }
  std::shared_ptr<const ServerContext> context() {
    SessionTokens tokens("node-b", "cluster-1",
                         *session_token_signer(server.secrets.secret_key, {}));
    return *ServerContext::create(server, std::move(tokens), replay, clock, random);
  }

  FixedClock clock;
  CountingRandom random;
  ReplayWindow replay{{}, random};
  Channel channel{.reach = Reach::kLoopback};
  ServerConfig server;
  ClientConfig client;
};

template <class T, class Actions>
const T* find(const Actions& actions) {
  for (const auto& action : actions) {
    if (const auto* found = std::get_if<T>(&action)) return found;
  }
  return nullptr;
}

template <class End>
auto give(End& end, bool text, const std::string& bytes) {
  return text ? end.on_text(bytes) : end.on_binary(bytes);
}

void in_place_of_each_message(World& world, bool text, const std::string& bytes) {
  auto context = world.context();
  ServerSession fresh(context, world.channel);
  (void)give(fresh, text, bytes);
  (void)give(fresh, !text, bytes);

  ServerSession server(context, world.channel);
  ClientSession client(world.client, world.channel, world.clock, world.random);
  auto hello = *client.start();
  auto welcomed = server.on_text(hello.bytes);
  ClientSession fooled(world.client, world.channel, world.clock, world.random);
  (void)fooled.start();
  if (find<Send>(give(fooled, text, bytes)) != nullptr) std::abort();
  auto authenticated = client.on_text(find<Send>(welcomed)->frame.bytes);
  if (find<Send>(authenticated) == nullptr) std::abort();
  if (find<Opened>(give(client, text, bytes)) != nullptr) std::abort();
  if (find<VerifyCredential>(give(server, text, bytes)) != nullptr) std::abort();
}

void as_a_proof_or_claims(const std::string& bytes) {
  auto value = tool::parse_ijson(bytes);
  if (!value || !value->is_object()) return;
  if (auto proof = read_proof(value->get_object())) {
    ProofTrust trust{.server_keys = {holder_key().thumbprint()}, .psks = {}};
    if (check_proof(*proof, trust, {})) std::abort();
  }
  if (auto proof = read_holder(value->get_object())) (void)verify_holder(*proof, {}, "a.b.c");
  auto binding = read_binding(value->get_object());
  bool is_bound = value->get_object().contains("cnf");
  if (binding && binding->empty() == is_bound) std::abort();
  if (binding && is_bound && check_binding(*binding, {}, Unbound::kAccepted)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  bool text = (data[0] & 1) != 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  World world((data[0] & 2) != 0 ? Suite::kNone : Suite::kX25519Aes256Gcm,
              (data[0] & 4) != 0 ? tool::Method::kJwt : tool::Method::kApiKey,
              (data[0] & 8) != 0 ? KnownBy::kKey : KnownBy::kSecret);
  in_place_of_each_message(world, text, bytes);
  as_a_proof_or_claims(bytes);
  return 0;
}
