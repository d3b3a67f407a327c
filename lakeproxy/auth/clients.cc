#include "lakeproxy/auth/clients.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "base/crypto/password_hash.h"
#include "base/jose/key_algorithm.h"
#include "base/json/fields.h"
#include "lakeproxy/auth/token_claims.h"

namespace lake::auth {
namespace {

using base::ErrorKind;
using base::Result;
using base::Status;

constexpr std::size_t kMaxText = 255;
constexpr std::size_t kMaxSecret = 512;
constexpr std::size_t kMaxRoles = 64;
constexpr std::size_t kMaxSubjects = 1000;
constexpr std::size_t kMaxKeys = 4;

base::Error broken(std::string_view field, std::string_view rule) {
  return base::fail(ErrorKind::kInvalid, fmt::format("{}: {}", field, rule));
}

bool is_printable(std::string_view text) {
  return !text.empty() && text.size() <= kMaxText &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

Status check_roles(const std::vector<std::string>& roles) {
  const bool good = roles.size() <= kMaxRoles && std::ranges::all_of(roles, [](const auto& role) {
                      return !role.empty() && role.size() <= kMaxText && base::is_utf8(role);
                    });
  if (!good) return broken("roles", "must be at most 64 names of 1 to 255 bytes");
  return {};
}

// Names of a provider's choosing, of which only the form is known.
Status check_users(const Client& client) {
  if (!client.users) return {};
  const StatedUsers& users = *client.users;
  const bool named = !users.names.empty() && users.names.size() <= kMaxSubjects &&
                     std::ranges::all_of(users.names, is_user_name);
  if (!named) return broken("users.names", "must be 1 to 1000 names of users, or \"*\"");
  if (users.scopes.empty()) return broken("users.scope", "is required, such as ns:sales:r");
  if (users.scopes.is_administrator()) return broken("users.scope", "must not be \"*\"");
  if (client.statement_keys.empty()) return broken("users", "needs statement_keys");
  return check_roles(users.roles);
}

Status check(const Client& client) {
  // HTTP Basic ends a name at its first ':'.
  if (!is_printable(client.id) || client.id.contains(':') || client.id.contains(kActorMark)) {
    return broken("id", "must be 1 to 255 printable ASCII characters without ':' and \", \"");
  }
  if (client.scopes.empty()) return broken("scope", "is required, such as ns:sales:r");
  if (client.account && !is_printable(*client.account)) {
    return broken("account", "must be 1 to 255 printable ASCII characters");
  }
  const bool acts_for_names = std::ranges::all_of(client.may_act_for, is_printable);
  if (!acts_for_names || client.may_act_for.size() > kMaxSubjects) {
    return broken("may_act_for", "must be at most 1000 ids of clients, or \"*\"");
  }
  RETURN_IF_ERROR(check_users(client));
  return check_roles(client.roles);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Takes what stands before the next `mark` off the front.
std::string_view take(std::string_view& text, char mark) {
  const std::string_view part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return trimmed(part);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    if (auto word = take(text, ' '); !word.empty()) words.emplace_back(word);
  }
  return words;
}

Result<Client> client_of(std::string_view entry) {
  if (std::ranges::count(entry, '|') > 3) {
    return broken("entry", "must be id:secret|scope|roles|account");
  }
  std::string_view name = take(entry, '|');
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return broken("entry", "must begin with id:secret");
  auto secret = StoredSecret::make(std::string(name.substr(colon + 1)));
  if (!secret) return std::move(secret).error();
  Client client{.id = std::string(name.substr(0, colon)), .secret = std::move(*secret)};
  ASSIGN_OR_RETURN(client.scopes, Scopes::parse(take(entry, '|'), OtherWords::kRefused));
  client.roles = words_of(take(entry, '|'));
  if (!entry.empty()) client.account = std::string(trimmed(entry));
  return client;
}

// A text of words, or a list of them; none where it is absent.
Result<std::vector<std::string>> words_of(const base::json::Fields& fields, std::string_view key) {
  const base::json::Value* value = fields.find(key);
  if (value == nullptr) return std::vector<std::string>{};
  if (value->is_string()) {
    const auto& text = value->get_string();
    return words_of(std::string_view(text.data(), text.size()));
  }
  return fields.strings(key);
}

Result<std::vector<base::jose::Verifier>> statement_keys_of(const base::json::Fields& fields) {
  std::vector<base::jose::Verifier> keys;
  if (!fields.has("statement_keys")) return keys;
  ASSIGN_OR_RETURN(const auto texts, fields.strings("statement_keys"));
  if (texts.size() > kMaxKeys) return broken("statement_keys", "must be at most 4 keys");
  for (const std::string& text : texts) {
    auto key = base::crypto::VerifyKey::from_pem(text);
    if (!key) return broken("statement_keys", "must be public keys in PEM");
    const auto algorithm = base::jose::algorithm_for(key->type());
    ASSIGN_OR_RETURN(auto verifier, base::jose::Verifier::with_key(algorithm, std::move(*key)));
    keys.push_back(std::move(verifier));
  }
  return keys;
}

// A misspelt account would open what it should close.
Status check_members(const base::json::Object& object,
                     std::initializer_list<std::string_view> known) {
  for (const auto& member : object) {
    if (std::ranges::find(known, std::string_view(member.key())) == known.end()) {
      return broken("member", fmt::format("must be one of {}", fmt::join(known, ", ")));
    }
  }
  return {};
}

Result<std::optional<StatedUsers>> users_of(const base::json::Fields& fields) {
  ASSIGN_OR_RETURN(auto object, fields.opt_object("users"));
  if (!object) return std::nullopt;
  RETURN_IF_ERROR(check_members(fields.find("users")->as_object(), {"names", "scope", "roles"}));
  StatedUsers users;
  ASSIGN_OR_RETURN(users.names, words_of(*object, "names"));
  ASSIGN_OR_RETURN(auto words, words_of(*object, "scope"));
  ASSIGN_OR_RETURN(users.scopes, Scopes::parse(words, OtherWords::kRefused));
  ASSIGN_OR_RETURN(users.roles, words_of(*object, "roles"));
  return users;
}

Result<Client> client_of(const base::json::Fields& fields, const base::json::Value& json) {
  RETURN_IF_ERROR(check_members(json.as_object(), {"id", "secret", "scope", "roles", "account",
                                                   "may_act_for", "statement_keys", "users"}));
  ASSIGN_OR_RETURN(auto stored, fields.string("secret"));
  auto secret = StoredSecret::make(std::move(stored));
  if (!secret) return std::move(secret).error();
  ASSIGN_OR_RETURN(auto id, fields.string("id"));
  Client client{.id = std::move(id), .secret = std::move(*secret)};
  ASSIGN_OR_RETURN(auto words, words_of(fields, "scope"));
  ASSIGN_OR_RETURN(client.scopes, Scopes::parse(words, OtherWords::kRefused));
  ASSIGN_OR_RETURN(client.roles, words_of(fields, "roles"));
  ASSIGN_OR_RETURN(client.account, fields.opt_string("account"));
  ASSIGN_OR_RETURN(client.may_act_for, words_of(fields, "may_act_for"));
  ASSIGN_OR_RETURN(client.statement_keys, statement_keys_of(fields));
  ASSIGN_OR_RETURN(client.users, users_of(fields));
  return client;
}

}  // namespace

Result<StoredSecret> StoredSecret::make(std::string stored) {
  if (stored.empty() || stored.size() > kMaxSecret) {
    return broken("secret", "must be 1 to 512 bytes");
  }
  const auto form = base::crypto::password_form(stored);
  // Taken as it is, a hash of another kind would be the password itself.
  if (form == base::crypto::PasswordForm::kUnknown) {
    return broken("secret", "begins with '$' and is neither an argon2id nor a bcrypt hash");
  }
  return StoredSecret(base::Secret(std::move(stored)), form == base::crypto::PasswordForm::kHash);
}

bool StoredSecret::equals(std::string_view shown) const {
  const auto mine = base::crypto::sha256(stored_.reveal());
  const auto given = base::crypto::sha256(shown);
  return base::crypto::equal(base::crypto::view(mine), base::crypto::view(given)) && !is_hash_;
}

bool StoredSecret::is_hash_of(std::string_view shown) const {
  return is_hash_ && base::crypto::matches_hash(stored_.reveal(), shown);
}

bool is_user_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxText && base::is_utf8(name) &&
         !name.contains(kActorMark) &&
         std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool StatedUsers::holds(std::string_view subject) const {
  return std::ranges::any_of(names,
                             [&](const auto& name) { return name == "*" || name == subject; });
}

bool Client::may_act_for_client(std::string_view subject) const {
  return std::ranges::any_of(may_act_for,
                             [&](const auto& name) { return name == "*" || name == subject; });
}

Status Clients::add(Client client) {
  RETURN_IF_ERROR(check(client));
  std::string id = client.id;
  if (!clients_.emplace(std::move(id), std::move(client)).second) {
    return broken("id", "is there twice");
  }
  return {};
}

Status Clients::add_entries(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view entry = take(text, ',');
    if (entry.empty()) continue;
    auto client = client_of(entry);
    Status added = client ? add(std::move(*client)) : Status(std::move(client).error());
    if (!added) return std::move(added).error().with_context(fmt::format("entry {}", number));
  }
  return {};
}

Status Clients::add_json(std::string_view text) {
  auto json = base::json::parse(text, {.bytes = text.size()});
  const base::json::Array* list = json ? json->if_array() : nullptr;
  if (list == nullptr) return broken("the file", "must be a JSON list of clients");
  std::size_t number = 0;
  for (const base::json::Value& value : *list) {
    const std::string place = fmt::format("client {}", ++number);
    ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(value, place));
    auto client = client_of(fields, value);
    Status added = client ? add(std::move(*client)) : Status(std::move(client).error());
    if (!added) return std::move(added).error().with_context(place);
  }
  return {};
}

const Client* Clients::find(std::string_view id) const {
  auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : &found->second;
}

bool Clients::has_statement_keys() const {
  return std::ranges::any_of(clients_,
                             [](const auto& item) { return !item.second.statement_keys.empty(); });
}

bool Clients::has_stated_users() const {
  return std::ranges::any_of(clients_,
                             [](const auto& item) { return item.second.users.has_value(); });
}

bool Clients::has_hashes() const {
  return std::ranges::any_of(clients_,
                             [](const auto& item) { return item.second.secret.is_hash(); });
}

}  // namespace lake::auth
