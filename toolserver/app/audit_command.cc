#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>

#include "base/json/json.h"
#include "toolserver/app/audit_setup.h"
#include "toolserver/app/command.h"
#include "toolserver/audit/verify.h"

namespace tool::app {
namespace {

using base::json::Object;

base::Error invalid(std::string what) {
  return base::fail(base::ErrorKind::kInvalid, std::move(what));
}

std::string text_of(const Object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

// The whole number that `text` begins with; moves past it and `end`.
std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
  std::uint64_t number = 0;
  auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  auto used = static_cast<std::size_t>(at - text.data());
  if (error != std::errc() || (end != 0 && (used == text.size() || *at != end))) return {};
  text.remove_prefix(end != 0 ? used + 1 : used);
  return number;
}

base::Result<audit::CheckpointKeys> keys_of(const std::vector<std::string>& files) {
  audit::CheckpointKeys keys;
  for (const auto& file : files) RETURN_IF_ERROR(add_key(keys, file));
  return keys;
}

base::Result<audit::AuditReceipt> receipt_of_json(std::string_view text) {
  auto parsed = base::json::parse(text);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  const auto* seq = object ? object->if_contains("seq") : nullptr;
  if (!seq || !seq->is_int64() || seq->get_int64() < 1 || text_of(*object, "hash").empty()) {
    return invalid("--receipt: must be seq:hash, or a JSON object with seq and hash");
  }
  audit::AuditReceipt receipt;
  receipt.seq = static_cast<std::uint64_t>(seq->get_int64());
  receipt.hash = text_of(*object, "hash");
  receipt.node = text_of(*object, "node");
  if (const auto* sig = object->if_contains("sig"); sig && sig->is_object()) {
    receipt.kid = text_of(sig->get_object(), "kid");
    receipt.signature = text_of(sig->get_object(), "v");
  }
  return receipt;
}

base::Result<audit::AuditReceipt> receipt_of(std::string_view text) {
  if (text.starts_with('{')) return receipt_of_json(text);
  auto seq = take_number(text, ':');
  if (!seq || text.empty()) return invalid("--receipt: must be seq:hash, or the JSON of a receipt");
  return audit::AuditReceipt{*seq, std::string(text), {}, {}, {}};
}

base::Result<audit::LineRange> range_of(std::string_view text) {
  auto from = take_number(text, '-');
  auto to = from ? take_number(text, 0) : std::nullopt;
  if (!to || !text.empty()) return invalid("--accept-unsigned: must be from-to, such as 402-417");
  return audit::LineRange{*from, *to};
}

// What a witness has: checkpoint lines. One that no key made is not taken.
base::Result<std::vector<audit::ChainHead>> witnessed_in(const std::string& file,
                                                         const audit::CheckpointKeys& keys) {
  std::vector<audit::ChainHead> heads;
  if (file.empty()) return heads;
  std::ifstream in(file);
  if (!in) return invalid("--witness: the file cannot be read");
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    auto parsed = base::json::parse(line);
    auto checked =
        parsed && parsed->is_object() ? keys.check(parsed->get_object()) : audit::CheckedLine();
    if (checked.standing != audit::CheckedLine::Standing::kVerified) {
      return invalid(fmt::format("--witness: line {}: no key that is known made it", number));
    }
    heads.push_back(checked.covered);
  }
  return heads;
}

struct Prepared {
  std::string folder;
  audit::CheckpointKeys keys;
  audit::VerifyOptions options;
};

// The folder and keys of the configuration, unless the caller names its own.
base::Result<Prepared> prepare(const ConfigFlags& flags, const VerifyFlags& verify) {
  Prepared prepared;
  prepared.folder = verify.folder;
  ASSIGN_OR_RETURN(prepared.keys, keys_of(verify.keys));
  if (verify.folder.empty() || verify.keys.empty()) {
    ASSIGN_OR_RETURN(auto loaded, settings::load(flags.places(), settings::Role::kServer));
    if (verify.folder.empty()) prepared.folder = loaded.config.audit.path;
    if (verify.keys.empty()) {
      ASSIGN_OR_RETURN(prepared.keys, checkpoint_keys(loaded.config));
    }
    prepared.options.checkpoint_records = loaded.config.audit.checkpoint_records;
  }
  for (const auto& text : verify.receipts) {
    ASSIGN_OR_RETURN(auto receipt, receipt_of(text));
    prepared.options.expected.push_back(std::move(receipt));
  }
  for (const auto& text : verify.accepted) {
    ASSIGN_OR_RETURN(auto range, range_of(text));
    prepared.options.accepted.push_back(range);
  }
  if (verify.first_seq > 0) prepared.options.first_seq = verify.first_seq;
  ASSIGN_OR_RETURN(prepared.options.witnessed, witnessed_in(verify.witness, prepared.keys));
  return prepared;
}

// Says of each receipt with a signature whether it is one of the keys'.
bool are_signed(const Prepared& prepared) {
  bool all = true;
  for (const auto& receipt : prepared.options.expected) {
    if (receipt.signature.empty() || prepared.keys.is_signed(receipt)) continue;
    fmt::print(stderr, "the receipt of line {}: its signature is by none of the keys\n",
               receipt.seq);
    all = false;
  }
  return all;
}

int tell(const base::Error& error, int code) {
  fmt::print(stderr, "{}\n", error.message());
  return code;
}

}  // namespace

int verify_audit(const ConfigFlags& flags, const VerifyFlags& verify) {
  auto prepared = prepare(flags, verify);
  if (!prepared) return tell(prepared.error(), 2);
  bool has_true_receipts = are_signed(*prepared);
  auto report = audit::verify(prepared->folder, prepared->keys, prepared->options);
  if (!report) return tell(report.error(), 1);
  if (verify.json) {
    fmt::print("{}\n", base::json::write(report->to_json()));
  } else {
    fmt::print("{}", report->to_text());
  }
  switch (report->verdict()) {
    case audit::Verdict::kIntact: return has_true_receipts ? 0 : 1;
    case audit::Verdict::kUnsigned:
      fmt::print(stderr, "lines of the audit trail were never signed\n");
      return 3;
    case audit::Verdict::kBroken: break;
  }
  fmt::print(stderr, "the audit trail is not intact\n");
  return 1;
}

int check_receipts(const ConfigFlags& flags, const VerifyFlags& given) {
  VerifyFlags verify = given;
  if (!verify.keys.empty()) verify.folder = "-";  // Nothing of the configuration is needed.
  auto prepared = prepare(flags, verify);
  if (!prepared) return tell(prepared.error(), 2);
  for (const auto& receipt : prepared->options.expected) {
    if (receipt.signature.empty()) return tell(invalid("a receipt without a signature"), 1);
  }
  if (!are_signed(*prepared)) return 1;
  for (const auto& receipt : prepared->options.expected) {
    fmt::print("{} recorded line {} with the hash {}, signed by {}\n", receipt.node, receipt.seq,
               receipt.hash, receipt.kid == "secret" ? "the shared secret" : "key " + receipt.kid);
  }
  return 0;
}

}  // namespace tool::app
