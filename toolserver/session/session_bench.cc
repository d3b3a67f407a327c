// What a session costs in processor time: the handshake on each side, a record
// of 256 bytes, and a signed call of 256 bytes from its bytes to its answer.

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "toolserver/session/client_session.h"
#include "toolserver/session/server_session.h"

namespace tool::session {
namespace {

class BenchRandom final : public base::Random {
 public:
  void fill(std::span<std::byte> out) override {
    for (auto& byte : out) byte = static_cast<std::byte>(engine_());
  }

 private:
  std::minstd_rand engine_{7};
};

struct World {
  explicit World(Suite the_suite)
      : suite(the_suite), mode(has_records(suite) ? Mode::kEncrypted : Mode::kSimple) {
    ServerConfig config;
    config.node_id = "node-b";
    config.cluster = "cluster-1";
    config.mode = mode;
    config.suites = {suite};
    config.methods = {Method::kApiKey};
    config.secrets = secrets();
    config.rekey.records = std::uint64_t{1} << 40;
    SessionTokens tokens("node-b", "cluster-1",
                         *session_token_signer(config.secrets.secret_key, {}));
    context = *ServerContext::create(std::move(config), std::move(tokens), replay, clock, random);
  }
  static Secrets secrets() {
    return {.secret_key = base::Secret("w7Gk2pXv9QzRm4TcLs8YbNd3HfJa6UeB"),
            .api_key = base::Secret("Zr5Xq8Wn2Vb7Mc4Kj9Hg3Fd6Sa1PoIu0"),
            .kdf_salt = base::Secret("kdf-salt-of-the-bench")};
  }
  std::unique_ptr<ServerSession> server() {
    return std::make_unique<ServerSession>(context, channel);
  }
  std::unique_ptr<ClientSession> client() {
    ClientConfig config;
    config.mode = mode;
    config.suites = {suite};
    config.secrets = secrets();
    return std::make_unique<ClientSession>(std::move(config), channel, clock, random);
  }

  Suite suite;
  Mode mode;
  Channel channel{.reach = Reach::kLoopback};
  base::SystemClock clock;
  BenchRandom random;
  ReplayWindow replay{{.entries = 100'000'000}, random};
  std::shared_ptr<const ServerContext> context;
};

const Principal kAlice{.subject = "alice",
                       .issuer = "node-b",
                       .scopes = *Scopes::parse("cap:list tool:invoke:sql.query"),
                       .expires_at = base::WallTime::max()};

Frame frame_of(const auto& actions) { return std::get<Send>(actions.at(0)).frame; }
auto give(auto& end, const Frame& frame) {
  return frame.kind == FrameKind::kText ? end.on_text(frame.bytes) : end.on_binary(frame.bytes);
}

void open(ServerSession& server, ClientSession& client) {
  auto auth = frame_of(give(client, frame_of(give(server, *client.start()))));
  (void)give(server, auth);
  (void)give(client, frame_of(server.on_verified(kAlice)));
}

template <Suite kSuite>
void BM_HandshakeServer(benchmark::State& state) {
  World world(kSuite);
  for (auto _ : state) {
    state.PauseTiming();
    auto client = world.client();
    auto hello = *client->start();
    state.ResumeTiming();
    auto server = world.server();
    auto welcome = frame_of(give(*server, hello));
    state.PauseTiming();
    auto auth = frame_of(give(*client, welcome));
    state.ResumeTiming();
    (void)give(*server, auth);
    benchmark::DoNotOptimize(server->on_verified(kAlice));
  }
}
BENCHMARK(BM_HandshakeServer<Suite::kX25519Aes256Gcm>);
BENCHMARK(BM_HandshakeServer<Suite::kP256Aes256Gcm>);
BENCHMARK(BM_HandshakeServer<Suite::kNone>);

template <Suite kSuite>
void BM_HandshakeBoth(benchmark::State& state) {
  World world(kSuite);
  for (auto _ : state) {
    auto server = world.server();
    auto client = world.client();
    open(*server, *client);
  }
}
BENCHMARK(BM_HandshakeBoth<Suite::kX25519Aes256Gcm>);
BENCHMARK(BM_HandshakeBoth<Suite::kNone>);

template <base::crypto::Aead::Algorithm kAlgorithm>
void BM_SealAndOpen(benchmark::State& state) {
  RecordStart start{
      .algorithm = kAlgorithm, .key = "0123456789abcdef0123456789abcdef", .iv = "0123456789ab"};
  RecordSealer sealer(start);
  RecordOpener opener(start);
  std::string text(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(opener.open(sealer.seal(text)));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_SealAndOpen<base::crypto::Aead::Algorithm::kAes256Gcm>)->Arg(256)->Arg(16 << 10);
BENCHMARK(BM_SealAndOpen<base::crypto::Aead::Algorithm::kChaCha20Poly1305>)->Arg(256);

base::json::Object call_payload() {
  return {{"tool", "sql.query"},
          {"args", {{"sql", "select 1 from orders where id = 42"}, {"limit", 10}}}};
}

// A call's bytes in, its answer's bytes out. As many at a time as a session may
// have in flight, since stopping the clock costs as much as a call.
template <Suite kSuite>
void BM_Call(benchmark::State& state) {
  constexpr std::size_t kAtOnce = 64;
  World world(kSuite);
  auto server = world.server();
  auto client = world.client();
  open(*server, *client);
  std::vector<Outgoing> requests;
  std::vector<Frame> answers;
  for (auto _ : state) {
    state.PauseTiming();
    for (const auto& answer : answers) (void)give(*client, answer);
    answers.clear();
    requests.clear();
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      requests.push_back(*client->encode_request(Op::kInvoke, call_payload()));
    }
    state.ResumeTiming();
    for (const auto& request : requests) {
      auto actions = give(*server, request.frame);
      answers.push_back(*server->encode_result(
          request.id, {{"is_error", false}, {"content", base::json::Array()}}));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kAtOnce));
  state.counters["request_bytes"] = static_cast<double>(requests.front().frame.bytes.size());
}
BENCHMARK(BM_Call<Suite::kNone>);
BENCHMARK(BM_Call<Suite::kX25519Aes256Gcm>);

Envelope sample() {
  BenchRandom random;
  return {.id = Ulid::make({}, random),
          .op = "tool.invoke",
          .time = WireTime(std::chrono::milliseconds(1795251600123)),
          .audience = "node-b",
          .payload = call_payload()};
}

void BM_ParseEnvelope(benchmark::State& state) {
  std::string text = *write_envelope(sample());
  for (auto _ : state) benchmark::DoNotOptimize(parse_envelope(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_ParseEnvelope);

void BM_WriteEnvelope(benchmark::State& state) {
  Envelope envelope = sample();
  for (auto _ : state) benchmark::DoNotOptimize(write_unsigned(envelope));
}
BENCHMARK(BM_WriteEnvelope);

void BM_VerifySignature(benchmark::State& state) {
  MessageKey key(Direction::kClientToServer, SecretBytes(32));
  Envelope envelope = sample();
  envelope.signature = key.sign({}, *canonical_without_sig(envelope));
  for (auto _ : state) {
    benchmark::DoNotOptimize(key.verify({}, *canonical_without_sig(envelope), *envelope.signature));
  }
}
BENCHMARK(BM_VerifySignature);

void BM_ReplayWindow(benchmark::State& state) {
  BenchRandom random;
  WireTime now(std::chrono::milliseconds(1795251600123));
  ReplayWindow window({.entries = 1'000'000'000}, random);
  Ulid session = Ulid::make(now, random);
  MessageNonce nonce{};
  std::uint64_t number = 0;
  for (auto _ : state) {
    ++number;
    std::memcpy(nonce.data(), &number, sizeof number);
    now += std::chrono::milliseconds(number % 16 == 0 ? 1 : 0);
    benchmark::DoNotOptimize(window.admit(session, nonce, now, now));
  }
}
BENCHMARK(BM_ReplayWindow);

}  // namespace
}  // namespace tool::session
