"""What the trails of both nodes say of the calls at each door, and what of it may differ by door, with the reason."""
import dataclasses
import re

from bridged import audit_lines
from door_world import DOORS, OWN

# Fields of a record, or of what is told, that legitimately differ from those at the door `python`: (doors, when, fields, reason). `when` is asked
# of what the model expects there. Everything that is not here must be equal.
ALWAYS = lambda expected, call: True  # noqa: E731
DIFFERENCES = [
    ('mcp mcp-session stdio', lambda expected, call: call.tool_is_no_name, {'told', 'message'},
     'MCP has one answer for a name that is no tool, whether it could be one or not: E_TOOL. The trail has E_SHAPE'),
    ('workflow', ALWAYS, {'message'}, 'names the place in the workflow before what is wrong there'),
    ('peer', lambda expected, call: expected.node == 'own' and expected.code, {'message'},
     'the words of another node are not told to its callers: section 18.3 of the protocol'),
    ('peer', ALWAYS, {'iss', 'method', 'origin'}, 'the tool\'s node knows the caller by the node that asks for it; at the gate the tool is that node\'s'),
    ('bridge', ALWAYS, {'sub', 'iss', 'method', 'origin', 'cnf'},
     'the tool\'s node sees the credential of the gate and nobody behind it; at the gate the tool is a bridge\'s'),
    ('peer', ALWAYS, {'cnf'}, 'a binding is to a connection with the gate'),
    ('bridge', lambda expected, call: expected.code == 'E_LIMIT', {'told', 'message', 'content'},
     'an error of the protocol at a bridged server is an answer with an error to its callers, since a server\'s codes are its own'),
    ('peer bridge', lambda expected, call: call.has_tables, {'told', 'message', 'stage', 'verdict', 'code', 'status', 'bytes', 'redactions', 'guard', 'consent', 'args', 'content',
                                                             'structured'},
     'a node that has not the tables cannot tell what a statement reads, and refuses: section 6.7'),
    ('peer bridge', lambda expected, call: call.is_quarantined, {'told', 'message', 'stage', 'code', 'args_mac'},
     'a tool in quarantine is not offered to other nodes: E_TOOL there, E_PIN here'),
]


@dataclasses.dataclass(frozen=True)
class Call:
    """What DIFFERENCES may ask."""
    tool: str
    tool_is_no_name: bool
    has_tables: bool
    is_quarantined: bool


def is_bound_over_mcp(person, door):
    """MCP clients prove no key, so a token that is bound to one is none there; `securetool mcp` is a client of the native protocol."""
    return person.kind == 'bound' and door in ('mcp', 'mcp-session')


def opens(person, door):
    return not person.flaw and not is_bound_over_mcp(person, door)


def allowed_to_differ(door, expected, call):
    return {field for doors, when, fields, _ in DIFFERENCES if door in doors.split() and when(expected, call) for field in fields}


def in_own_words(text, door):
    """With the tool's name at its own node."""
    return re.sub(r'\b(?:node-b|far)\.([a-z]+)_', r'\1.', text) if DOORS[door][1] != 'here' else text


def record_of(line, opened, door):
    """The fields that are compared, in the names of the tool's own node."""
    principal = line['principal']
    decision, result = line['decision'], line.get('result', {})
    return {'tool': in_own_words(line.get('tool', ''), door), 'origin': line.get('origin'), 'args_mac': line.get('args_mac'), 'stage': decision['stage'],
            'verdict': decision['verdict'], 'code': decision.get('code', ''), 'guard': line.get('guard'), 'consent': line.get('consent'), 'status': result.get('status', ''),
            'bytes': result.get('bytes'), 'redactions': result.get('redactions'), 'args': opened.get(line.get('open')), 'sub': principal['sub'].removesuffix(f'-{door}'),
            'iss': principal['iss'], 'method': principal['method'], 'cnf': principal.get('cnf')}


def without_times(value):
    """Of what a tool answers: when a file changed, since calls at other doors write meanwhile."""
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name != 'modified'}
    return [without_times(one) for one in value] if isinstance(value, list) else value


class Trails:
    """The seals of both nodes, by subject and by request."""

    def __init__(self, world):
        self.lines = {node: audit_lines(service) for node, service in world.nodes.items()}
        self.opened = {node: {line['seq']: line.get('args') for line in lines if line['kind'] == 'open'} for node, lines in self.lines.items()}
        self.by_subject, self.by_request = {}, {}
        for node, lines in self.lines.items():
            for line in lines:
                if line['kind'] == 'seal':
                    self.by_subject.setdefault((node, line['principal']['sub']), []).append(line)
                    self.by_request.setdefault((node, line['rid']), []).append(line)
        self.of_bridge = iter(self.by_subject.get((OWN, 'key:bridge'), []) + self.by_subject.get((OWN, 'bridge'), []))

    def of(self, door, person, told):
        """For each call the node that had the last word, and its line; None where it was refused before it was a call."""
        subject = ('key:' if person.kind == 'key' else '') + f'{person.name}-{door}'
        node, way = DOORS[door]
        lines = self.by_subject.get((node, subject), [])
        assert len(lines) == sum(one.ran for one in told), (door, person.name, len(lines), 'a line for each call')
        if door == 'workflow':
            return [self.last_word(way, node, self.by_request[node, one.rid][0]) if one.ran else None for one in told]
        rest = iter(lines)
        return [self.last_word(way, node, next(rest)) if one.ran else None for one in told]

    def last_word(self, way, node, line):
        if way == 'here' or 'result' not in line:
            return node, line
        own = next(self.of_bridge) if way == 'bridge' else self.by_request[OWN, line['rid']][0]
        return OWN, own

    def record(self, door, last):
        node, line = last
        return record_of(line, self.opened[node], door)

    def logins_refused(self, node):
        """How many of each code, in lines or in summaries."""
        counts = {}
        for line in self.lines[node]:
            details = line.get('details', {})
            if line.get('event') == 'login_refused':
                counts[details['code']] = counts.get(details['code'], 0) + 1
            elif line.get('event') == 'summary' and details['act'] == 'login_refused':
                for code, count in details['codes'].items():
                    counts[code] = counts.get(code, 0) + count
        return counts
