-- Requests of MCP: the bodies of LOAD_BODIES (a line each) in turn, with the
-- headers of LOAD_HEADERS (a line each). Each request has an id of its own: a
-- session refuses one that is in use.
local id = 1000
local at = 0
local bodies = {}

function init()
  wrk.method = "POST"
  for name, value in os.getenv("LOAD_HEADERS"):gmatch("([^:\n]+): ([^\n]*)") do
    wrk.headers[name] = value
  end
  for body in os.getenv("LOAD_BODIES"):gmatch("[^\n]+") do
    local before, after = body:match('^(.*)"@id@"(.*)$')
    bodies[#bodies + 1] = {before, after}
  end
end

function request()
  id = id + 1
  at = at % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at][1] .. id .. bodies[at][2])
end
