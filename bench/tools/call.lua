-- tools/call of the echo tool, in the session that LOAD_SESSION names. Each
-- request has an id of its own: a session refuses one that is in use.
local id = 1000

function init()
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Accept"] = "application/json, text/event-stream"
  wrk.headers["Mcp-Session-Id"] = os.getenv("LOAD_SESSION")
  wrk.headers["Mcp-Protocol-Version"] = os.getenv("LOAD_VERSION")
  before, after = os.getenv("LOAD_BODY"):match("^(.*)ID(.*)$")
end

function request()
  id = id + 1
  return wrk.format(nil, nil, nil, before .. id .. after)
end
