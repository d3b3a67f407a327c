#include "toolserver/federation/proof/forwarding.h"

#include <algorithm>
#include <utility>

#include "base/jose/jwt.h"
#include "toolserver/model/digest.h"
#include "toolserver/model/ulid.h"

namespace tool::federation {
namespace {

constexpr std::string_view kScope = "tool:invoke:";

Fault forged(std::string detail) {
  Fault fault = refuse(Code::kSignature, "the forwarding proof is for another call");
  fault.detail = std::move(detail);
  return fault;
}

Fault too_far() { return refuse(Code::kLimit, "the call was forwarded too often"); }

// That `next` goes on where `before` led to, with the same call for the same caller.
Outcome<void> check_continues(const ForwardProof& before, std::string_view token,
                              const ForwardProof& next) {
  auto via = before.via;
  via.push_back(before.issuer);
  if (next.via != via || next.previous != proof_hash(token)) return forged("the way");
  if (next.subject != before.subject || next.subject_issuer != before.subject_issuer) {
    return forged("the caller");
  }
  if (next.request != before.request) return forged("the request");
  if (next.args_hash != before.args_hash) return forged("the arguments");
  if (next.dry_run != before.dry_run) return forged("whether anything is done");
  if (next.issued_at + kProofLeeway.count() < before.issued_at) return forged("the times");
  if (next.max_hops > before.max_hops) return too_far();
  for (const auto& set : before.details) {
    if (std::find(next.details.begin(), next.details.end(), set) == next.details.end()) {
      return refuse(Code::kScope, "a node on the way left out what narrows the caller");
    }
  }
  auto tool = ToolId::parse(next.tool);
  if (!tool) return forged("the tool");
  auto known_as = far_id(next.audience, *tool);
  if (!known_as || known_as->text() != before.tool) {
    return refuse(Code::kScope, "a node on the way asks for another tool than it was asked for");
  }
  return {};
}

Outcome<void> check_alone(const ForwardProof& proof) {
  if (proof.scope == std::string(kScope) + proof.tool) return {};
  return refuse(Code::kScope, "the forwarding proof has another scope than that of its tool");
}

Outcome<void> check_way(const std::vector<std::string>& way, const std::string& self) {
  for (auto at = way.begin(); at != way.end(); ++at) {
    if (*at == self || std::find(std::next(at), way.end(), *at) != way.end()) {
      return refuse(Code::kPolicy, "the call has come in a loop");
    }
  }
  return {};
}

// The steps before the last one, from that back to the caller's own node.
Outcome<void> check_earlier(const NodeKeys& keys, const std::vector<std::string>& proofs,
                            ForwardProof next, base::WallTime now) {
  for (std::size_t i = proofs.size() - 1; i-- > 0;) {
    auto before = verify_earlier(keys, proofs[i], next.via.back(), next.issuer, now);
    if (!before) return std::move(before).error();
    if (auto good = check_alone(*before); !good) return good;
    if (auto good = check_continues(*before, proofs[i], next); !good) return good;
    next = std::move(*before);
  }
  return {};
}

Outcome<void> check_last(const ForwardProof& last, const Asked& asked) {
  if (last.session != asked.session) {
    return refuse(Code::kReplay, "the forwarding proof is for another session");
  }
  if (last.tool != asked.tool) return forged("the tool");
  auto hash = args_digest(*asked.args);
  if (!hash) return to_fault(std::move(hash).error().with_context("p.args"));
  if (last.args_hash != *hash) return forged("the arguments");
  if (last.dry_run != asked.dry_run) return forged("whether anything is done");
  if (last.hop != asked.proofs.size()) return forged("the number of proofs");
  return check_alone(last);
}

}  // namespace

Outcome<std::vector<std::string>> take_step(const NodeKeys& keys, const Invocation& call,
                                            const Step& step, base::WallTime now,
                                            base::Random& random) {
  ForwardProof proof;
  std::vector<std::string> proofs;
  proof.subject = call.principal->subject;
  proof.subject_issuer = call.principal->issuer;
  proof.max_hops = step.max_hops;
  if (const auto& before = call.forwarded) {
    proofs = before->proofs;
    proof.subject_issuer = before->issuer;
    proof.via = before->way;
    proof.max_hops = std::min(proof.max_hops, before->max_hops);
    proof.previous = proof_hash(proofs.back());
  }
  proof.hop = static_cast<std::uint32_t>(proof.via.size()) + 1;
  if (proof.hop > proof.max_hops) return too_far();
  if (step.to == keys.node_id() || std::ranges::find(proof.via, step.to) != proof.via.end()) {
    return refuse(Code::kPolicy, "the call would go in a loop");
  }
  proof.issuer = keys.node_id();
  proof.audience = step.to;
  proof.id = Ulid::make(now, random).text();
  proof.issued_at = base::jose::numeric_date(now);
  proof.expires_at = base::jose::numeric_date(now + kProofLife);
  proof.request = call.request_id;
  proof.tool = step.tool;
  proof.args_hash = call.args_hash;
  proof.scope = std::string(kScope) + proof.tool;
  proof.session = step.session;
  proof.dry_run = call.dry_run;
  proof.details = call.principal->details.sets_of(call.tool);
  auto token = sign_proof(keys, proof);
  if (!token) return refuse(Code::kLimit, "the caller's name is too long to be forwarded");
  proofs.push_back(std::move(*token));
  return proofs;
}

Outcome<Forwarded> accept(const NodeKeys& keys, ProofMemory& memory, Asked asked,
                          std::uint32_t max_hops, base::WallTime now) {
  if (asked.proofs.empty()) return refuse(Code::kShape, "p.proofs: must not be empty");
  if (asked.proofs.size() > max_hops) return too_far();
  auto last = verify_proof(keys, asked.proofs.back(), asked.node, keys.node_id(), now);
  if (!last) return std::move(last).error();
  if (auto good = check_last(*last, asked); !good) return std::move(good).error();
  if (last->hop > last->max_hops) return too_far();
  Forwarded out;
  out.way = last->via;
  out.way.push_back(last->issuer);
  if (auto good = check_way(out.way, keys.node_id()); !good) return std::move(good).error();
  if (auto good = check_earlier(keys, asked.proofs, *last, now); !good) {
    return std::move(good).error();
  }
  if (auto once = memory.admit(last->issuer, last->id, last->expires_at, now); !once) {
    return std::move(once).error();
  }
  out.subject = std::move(last->subject);
  out.issuer = std::move(last->subject_issuer);
  out.request = std::move(last->request);
  out.details = std::move(last->details);
  out.max_hops = std::min(last->max_hops, max_hops);
  out.proofs = std::move(asked.proofs);
  return out;
}

}  // namespace tool::federation
