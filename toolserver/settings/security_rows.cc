#include "toolserver/settings/bind.h"

// What protects the link and the tokens.

namespace tool::settings {

using base::config::BytesType;
using base::config::ChoiceType;
using base::config::DurationType;
using base::config::FlagType;
using base::config::IntegerType;
using base::config::ListType;
using base::config::SecretType;
using base::config::TextType;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

std::vector<Row> transit_rows() {
  Rows rows("Security", Change::kRestart);
  rows.add("security.allow_insecure_transit", SETTINGS_MEMBER(security.allow_insecure_transit),
           FlagType{}, "0", "1 permits ws:// and http://, and those only to this machine itself.")
      .add("security.tls_enabled", SETTINGS_MEMBER(security.tls_enabled), FlagType{}, "0",
           "1 serves TLS with server.tls_cert and server.tls_key; a client then insists on wss://.")
      .add("security.ca_cert_path", SETTINGS_MEMBER(security.ca_cert_path), TextType{}, "",
           "PEM file with the authorities a client and a forwarding node trust; the system's "
           "when not set.")
      .add("security.client_cert_path", SETTINGS_MEMBER(security.client_cert_path), TextType{}, "",
           "PEM file with the certificate chain that a client shows.")
      .add("security.client_key_path", SETTINGS_MEMBER(security.client_key_path), TextType{}, "",
           "PEM file with the private key of security.client_cert_path.");
  return std::move(rows).done();
}

std::vector<Row> token_rows() {
  Rows rows("Security", Change::kRestart);
  rows.add("security.jwt_algorithm", SETTINGS_MEMBER(security.jwt_algorithm),
           choice<JwtAlgorithm>(), "hs256", "Algorithm of session tokens.")
      .add("security.jwt_private_key_path", SETTINGS_MEMBER(security.jwt_private_key_path),
           TextType{}, "",
           "PEM file with the private key of session and minted client tokens; a server under "
           "RS256 needs it.")
      .add("security.jwt_public_key_path", SETTINGS_MEMBER(security.jwt_public_key_path),
           TextType{}, "", "PEM file with the public key that a client verifies tokens with.")
      .add("security.federation_jwt_algorithm", SETTINGS_MEMBER(security.federation_jwt_algorithm),
           ChoiceType{{"rs256"}}, "rs256", "Algorithm of the federation's client tokens.")
      .add("security.federation_jwt_public_key_path",
           SETTINGS_MEMBER(security.federation_jwt_public_key_path), TextType{}, "",
           "PEM file with the public key of the node that mints the federation's client tokens; "
           "none are taken without it.")
      .add("security.federation_issuer", SETTINGS_MEMBER(security.federation_issuer), TextType{},
           "", "Issuer that the federation's client tokens must name.")
      .add("security.federation_audience", SETTINGS_MEMBER(security.federation_audience),
           TextType{}, "",
           "Audience that the federation's client tokens must name; cluster.name when not set.")
      .add("security.proof_signing_key_path", SETTINGS_MEMBER(security.proof_signing_key_path),
           TextType{}, "",
           "PEM file with this node's private key: for forwarding proofs, which rest on "
           "secret_key without it, and, where it is of Ed25519, for the proof of the server to "
           "clients that have it in security.server_keys.")
      .add("security.client_token", SETTINGS_MEMBER(security.client_token), SecretType{}, "",
           "A minted client token that a client presents.")
      .add("security.holder_key_path", SETTINGS_MEMBER(security.holder_key_path), TextType{}, "",
           "PEM file with the Ed25519 private key that a client's token is bound to; each "
           "connection "
           "and refresh proves it.")
      .add("security.server_keys", SETTINGS_MEMBER(security.server_keys),
           ListType{server_key_rule, kServerKeyRule, 4}, "",
           "Keys of which one must be the server's: a client then takes no proof by secret_key, "
           "and needs none. Several while a key is changed.")
      .add("security.require_bound_tokens", SETTINGS_MEMBER(security.require_bound_tokens),
           FlagType{}, "0",
           "1 refuses client and access tokens that are not bound to a key or a certificate. A "
           "token "
           "that is bound is never taken without its proof.",
           Change::kLive);
  return std::move(rows).done();
}

std::vector<Row> session_rows() {
  Rows rows("Security", Change::kRestart);
  rows.add("security.replay_window", SETTINGS_MEMBER(security.replay_window),
           DurationType{seconds(5), seconds(300)}, "60",
           "Age and lead that a signed message may have.")
      .add("security.replay_cache_size", SETTINGS_MEMBER(security.replay_cache_size),
           IntegerType{1000, 100'000'000}, "1000000",
           "Signed messages that are remembered; when full, further ones are refused.")
      .add("security.session_token_lifetime", SETTINGS_MEMBER(security.session_token_lifetime),
           DurationType{seconds(1), hours(24)}, "900", "Life of a session token.")
      .add("security.session_lifetime", SETTINGS_MEMBER(security.session_lifetime),
           DurationType{seconds(60), hours(24 * 7)}, "43200",
           "Life of a session, refreshed or not.")
      .add("security.api_key_scopes", SETTINGS_MEMBER(security.api_key_scopes),
           ListType{scope_rule, kScopeRule, 256}, "cap:list",
           "What a caller with the api_key may do; it can call no tool until a scope names it.",
           Change::kLive)
      .add("security.api_keys_file", SETTINGS_MEMBER(security.api_keys_file), TextType{}, "",
           "File with the keys of `securetool keys`, beside api_key; read again at a reload, which "
           "also ends the sessions of those that are gone.",
           Change::kLive)
      .add("security.certificate_scopes", SETTINGS_MEMBER(security.certificate_scopes),
           ListType{scope_rule, kScopeRule, 256}, "",
           "What a caller with a TLS client certificate may do; empty, and without "
           "security.certificate_scopes_file: the method mtls is not offered.",
           Change::kLive)
      .add("security.certificate_scopes_file", SETTINGS_MEMBER(security.certificate_scopes_file),
           TextType{}, "",
           "File with a line `scope scope = subject` for each certificate subject that has scopes "
           "of "
           "its own; read again at a reload.",
           Change::kLive)
      .add("security.deny_file", SETTINGS_MEMBER(security.deny_file), TextType{}, "",
           "File with a line `jti ID` for each token and `sub SUBJECT` for each caller that is "
           "refused; read again at a reload, which also ends their sessions.",
           Change::kLive);
  return std::move(rows).done();
}

std::vector<Row> crypto_rows() {
  Rows rows("Crypto", Change::kRestart);
  rows.add("crypto.perfect_forward_secrecy", SETTINGS_MEMBER(crypto.perfect_forward_secrecy),
           FlagType{}, "1",
           "Fresh ECDH keys for each session, wiped after use. They are always made: 0 allows a "
           "server "
           "to keep them, and this one does not.")
      .add("crypto.suites", SETTINGS_MEMBER(crypto.suites), ListType{suite_rule, kSuiteRule, 3},
           "X25519_A256GCM_S256,P256_A256GCM_S256,X25519_C20P_S256",
           "Cipher suites that are offered and taken, best first.")
      .add("crypto.rekey_records", SETTINGS_MEMBER(crypto.rekey_records),
           IntegerType{1024, std::int64_t{1} << 32}, "4194304",
           "Encrypted records after which keys are renewed.")
      .add("crypto.rekey_bytes", SETTINGS_MEMBER(crypto.rekey_bytes),
           BytesType{std::uint64_t{1} << 20, std::uint64_t{1} << 36}, "32GiB",
           "Encrypted bytes after which keys are renewed.")
      .add("crypto.rekey_interval", SETTINGS_MEMBER(crypto.rekey_interval),
           DurationType{minutes(1), hours(24)}, "3600", "Time after which keys are renewed.");
  return std::move(rows).done();
}

}  // namespace

std::vector<Row> security_rows() {
  std::vector<Row> out;
  for (auto* part : {transit_rows, token_rows, session_rows, crypto_rows}) {
    for (auto& row : part()) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace tool::settings
