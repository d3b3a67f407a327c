# Who may call which tool with what, and what of its answer may be shown. securetool asks
# POST /v1/data/scp/authz twice for each call: in phase "pre" before the tool runs, in phase "post" with its answer.
# It reads `effect`, `reasons`, `obligations` and `revision`. The engine sends every rule of this package along, so a rule
# that only gives a part of the question another name does not belong here: the answer would be as long as the question.
package scp.authz

import rego.v1

# Change it with every change of this file: decisions are remembered for it.
revision := "sample-1"

# The hardest word counts, and without one the answer is no.
default effect := "deny"

effect := "quarantine" if count(quarantine) > 0

else := "deny" if count(deny) > 0

else := "consent" if count(consent) > 0

else := "redact" if count(obligations) > 0

else := "allow" if allow

# Codes go to the caller; a sentence would stay in the audit trail.
reasons := (quarantine | deny) | consent

pre if input.phase == "pre"

post if input.phase == "post"

# What may happen at all: the tools of this service, none of a foreign server.
allow if input.capability.origin.kind == "local"

deny contains "not_a_local_tool" if not allow

# Nobody queries the salaries but those who pay them.
deny contains "salaries_are_closed" if {
	pre
	input.request.tool == "sql.query"
	contains(lower(input.request.args.sql), "salaries")
	not input.principal.sub in {"payroll"}
}

# A file of another folder than drafts/ is written only when a person agrees; the tool asks about each write anyway.
consent contains "outside_of_drafts" if {
	pre
	input.request.tool == "files.write"
	not startswith(input.request.args.path, "drafts/")
}

# Reading is free for tools; reading something marked as confidential needs a strong channel.
deny contains "confidential" if {
	post
	some part in input.output.content
	contains(upper(part.text), "CONFIDENTIAL")
	input.session.mode in {"simple", "basic"}
}

# A tool whose answer gives orders is not called again until somebody has looked at it.
quarantine contains "answer_gives_orders" if {
	post
	some part in input.output.content
	contains(part.text, "<IMPORTANT>")
}

# The customers of a query are nobody's business: the column goes out of the rows.
obligations contains {"type": "redact", "target": "result", "pointers": pointers} if {
	post
	input.request.tool == "sql.query"
	pointers := [sprintf("/structured/rows/%d/%d", [row, column]) |
		some column, one in input.output.structured.columns
		one.name == "customer"
		some row, _ in input.output.structured.rows
	]
	count(pointers) > 0
}

# What is written need not be in the audit trail, where arguments are recorded.
obligations contains {"type": "redact", "target": "arguments", "pointers": ["/content"]} if {
	pre
	input.request.tool == "files.write"
}
