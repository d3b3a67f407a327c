#pragma once

// Both ends of a session without a network between them, and raw ends that can
// send what the real ones never would.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/crypto/encoding.h"
#include "toolserver/session/client_session.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/random_bytes.h"
#include "toolserver/session/server_session.h"
#include "toolserver/session/transcript.h"

namespace tool::session::testing {

class TestClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override { return now_; }
  template <class Duration>
  void advance(Duration by) {
    now_ += by;
  }

 private:
  base::WallTime now_{std::chrono::milliseconds(1'795'251'600'000)};
};

class TestRandom final : public base::Random {
 public:
  explicit TestRandom(std::uint64_t seed = 1) : engine_(seed) {}
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(engine_());
  }

 private:
  std::mt19937_64 engine_;
};

inline constexpr std::string_view kSecretKey = "w7Gk2pXv9QzRm4TcLs8YbNd3HfJa6UeB";
inline constexpr std::string_view kApiKey = "Zr5Xq8Wn2Vb7Mc4Kj9Hg3Fd6Sa1PoIu0";
inline constexpr std::string_view kSalt = "kdf-salt-of-the-tests";

struct Options {
  Mode mode = Mode::kEncrypted;
  std::vector<Suite> suites{Suite::kX25519Aes256Gcm};
  Method method = Method::kApiKey;
  Channel server_channel{.reach = Reach::kLoopback};
  Channel client_channel{.reach = Reach::kLoopback};
  bool by_node_key = false;  ///< The server has the key, and the client no secret.
};
inline Options signed_options() { return {.mode = Mode::kSimple, .suites = {Suite::kNone}}; }

inline Options with_node_key(Options options) {
  options.by_node_key = true;
  return options;
}
inline const base::crypto::SigningKey& node_key() {
  static const auto key = base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519);
  return key;
}

inline Secrets test_secrets() {
  return {.secret_key = base::Secret(std::string(kSecretKey)),
          .api_key = base::Secret(std::string(kApiKey)),
          .kdf_salt = base::Secret(std::string(kSalt))};
}

inline ServerConfig server_config(const Options& options) {
  ServerConfig config;
  config.node_id = "node-b";
  config.cluster = "cluster-1";
  config.mode = options.mode;
  config.suites = options.suites;
  config.methods = {options.method};
  config.secrets = test_secrets();
  if (options.by_node_key) config.node_key = node_key();
  return config;
}

inline ClientConfig client_config(const Options& options) {
  ClientConfig config;
  config.mode = options.mode;
  config.suites = options.suites;
  config.method = options.method;
  config.token = base::Secret("a.b.c");
  config.secrets = test_secrets();
  if (options.by_node_key) {
    config.server_keys = {node_key().thumbprint()};
    config.secrets.secret_key = {};
  }
  return config;
}

inline Principal alice() {
  return {.subject = "alice",
          .issuer = "node-b",
          .method = Method::kApiKey,
          .scopes = *Scopes::parse("cap:list tool:invoke:sql.query"),
          .expires_at = base::WallTime::max()};
}

/// A server's shared parts.
struct World {
  TestClock clock;
  TestRandom random{7};
  ReplayWindow replay{{}, random};

  std::shared_ptr<const ServerContext> context(ServerConfig config) {
    SessionTokens tokens(config.node_id, config.cluster,
                         *session_token_signer(config.secrets.secret_key, config.secrets.kdf_salt));
    auto made = ServerContext::create(std::move(config), std::move(tokens), replay, clock, random);
    EXPECT_TRUE(made.has_value());
    return *made;
  }
};

template <class T, class Actions>
const T* find(const Actions& actions) {
  for (const auto& action : actions) {
    if (const auto* found = std::get_if<T>(&action)) return found;
  }
  return nullptr;
}

template <class Actions>
std::uint16_t close_of(const Actions& actions) {
  const auto* close = find<Close>(actions);
  return close == nullptr ? 0 : close->code;
}

template <class Actions>
Frame sent(const Actions& actions) {
  const auto* send = find<Send>(actions);
  EXPECT_NE(send, nullptr);
  return send == nullptr ? Frame{} : send->frame;
}

inline ServerActions give(ServerSession& server, const Frame& frame) {
  return frame.kind == FrameKind::kText ? server.on_text(frame.bytes)
                                        : server.on_binary(frame.bytes);
}
inline ClientActions give(ClientSession& client, const Frame& frame) {
  return frame.kind == FrameKind::kText ? client.on_text(frame.bytes)
                                        : client.on_binary(frame.bytes);
}

/// A real client and a real server.
struct Pair {
  explicit Pair(const Options& options = {})
      : server(world.context(server_config(options)), options.server_channel),
        client(client_config(options), options.client_channel, world.clock, world.random) {}
  Pair(ServerConfig server_side, ClientConfig client_side, const Options& options = {})
      : server(world.context(std::move(server_side)), options.server_channel),
        client(std::move(client_side), options.client_channel, world.clock, world.random) {}

  /// Runs the handshake; whether both ends stand.
  bool open() {
    auto hello = client.start();
    if (!hello) return false;
    auto welcomed = give(server, *hello);
    if (find<Send>(welcomed) == nullptr) return false;
    auto authenticated = give(client, sent(welcomed));
    if (find<Send>(authenticated) == nullptr) return false;
    auto presented = give(server, sent(authenticated));
    if (find<VerifyCredential>(presented) == nullptr) return false;
    auto ready = server.on_verified(alice());
    if (find<Send>(ready) == nullptr) return false;
    auto opened = give(client, sent(ready));
    return find<Opened>(opened) != nullptr && server.state() == ServerState::kReady;
  }

  World world;
  ServerSession server;
  ClientSession client;
};

/// A client that says what it is told to.
struct RawClient {
  RawClient(World& the_world, const Options& options)
      : world(the_world),
        config(client_config(options)),
        handshake(config, options.client_channel, world.random) {}

  Envelope message(MessageType type, std::string_view op, base::json::Object payload = {}) {
    return {.type = type,
            .id = Ulid::make(world.clock.now(), world.random),
            .op = std::string(op),
            .time = wire_time(world.clock.now()),
            .nonce = random_nonce(world.random),
            .audience = layer ? "node-b" : "*",
            .payload = std::move(payload)};
  }
  Frame encode(const Envelope& envelope) {
    if (layer) return *layer->write(envelope);
    return {FrameKind::kText, *write_envelope(envelope)};
  }
  Frame hello() {
    Envelope envelope = message(MessageType::kReq, "session.hello");
    return {FrameKind::kText, *handshake.start(envelope)};
  }
  /// The welcome in, the auth out.
  Envelope auth(const Frame& welcome) {
    layer = *handshake.on_welcome(*parse_envelope(welcome.bytes));
    Envelope envelope = message(MessageType::kReq, "session.auth");
    EXPECT_TRUE(handshake.make_auth(envelope, layer->keys()).has_value());
    return envelope;
  }
  void ready(const Frame& frame) {
    EXPECT_TRUE(handshake.on_ready(read(frame), layer->keys()).has_value());
    layer->enter_ready(handshake.th2());
  }
  Envelope read(const Frame& frame) {
    if (!layer) return *parse_envelope(frame.bytes);
    auto text = layer->unwrap(frame.kind, frame.bytes);
    EXPECT_TRUE(text.has_value());
    auto envelope = *parse_envelope(*text);
    EXPECT_TRUE(layer->authenticate(envelope).has_value());
    return envelope;
  }
  /// The code of the err in the actions; empty when there is none.
  std::string refusal(const ServerActions& actions) {
    if (find<Send>(actions) == nullptr) return "";
    Envelope answer = read(sent(actions));
    if (answer.type != MessageType::kErr) return "";
    return std::string(answer.payload.at("code").as_string());
  }

  World& world;
  ClientConfig config;
  ClientHandshake handshake;
  std::optional<MessageLayer> layer;
};

/// A raw client and a real server, brought into a state.
struct RawPair {
  explicit RawPair(const Options& options = {})
      : server(world.context(server_config(options)), options.server_channel),
        client(world, options) {}

  void reach(ServerState state) {
    if (state == ServerState::kConnected) return;
    auto welcomed = give(server, client.hello());
    Envelope auth = client.auth(sent(welcomed));
    if (state == ServerState::kNegotiated) return check(state);
    auto presented = give(server, client.encode(auth));
    EXPECT_NE(find<VerifyCredential>(presented), nullptr);
    if (state == ServerState::kAuthenticating) return check(state);
    client.ready(sent(server.on_verified(alice())));
    if (state == ServerState::kRekeying) rekey();
    if (state == ServerState::kDraining) EXPECT_TRUE(server.begin_drain().empty());
    if (state == ServerState::kClosed) (void)give_message(MessageType::kReq, "session.close");
    if (state == ServerState::kFailed) (void)give_message(MessageType::kRes, "session.ping");
    check(state);
  }
  ServerActions give_message(MessageType type, std::string_view op,
                             base::json::Object payload = {}) {
    return give(server, client.encode(client.message(type, op, std::move(payload))));
  }
  void rekey() {
    auto key = base::crypto::EphemeralKey::generate(traits(server.suite()).group, world.random);
    std::string share = key.public_share();
    auto actions = give_message(MessageType::kReq, "session.rekey",
                                {{"eph", base::crypto::to_base64url(share)}});
    auto peer =
        read_b64(client.read(sent(actions)).payload, "eph", traits(server.suite()).share_bytes);
    ASSERT_TRUE(peer.has_value());
    auto dh = std::move(key).agree(*peer);
    client.layer->rekey(
        transcript_rekey(client.handshake.th2(), client.layer->epoch() + 1, share, *peer), *dh);
  }
  void check(ServerState state) const { EXPECT_EQ(name(server.state()), name(state)); }

  World world;
  ServerSession server;
  RawClient client;
};

}  // namespace tool::session::testing
