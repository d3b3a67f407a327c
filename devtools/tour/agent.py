"""An agent that asks for the steward, through a tool service: what the lake shows it beside what the steward sees."""
import time

import pyarrow as pa

from stack.process import StackError
from tool_stack.lake_agent import LakeAgent, McpUser
from tour.show import say, show_statement, show_table

NAME = 'agents'
SECONDS_FOR_COPIES = 120


def make(folder, lake_name):
    return LakeAgent(folder / 'agent', NAME, lake_name)


def show(agent, known, lake, table, clear_rows):
    """`clear_rows` are what the steward reads."""
    say('An agent asks for the steward, over MCP, through a tool service: the lake shows what both may see')
    service = agent.service(known['steward'].lake.uri, lake.s3_endpoint).start()
    try:
        user = McpUser(service, 'steward')
        sql = f'SELECT id, name, ssn, region FROM {table} ORDER BY id'
        show_statement('steward', sql)
        show_statement('agent of the steward', f'lake.query {{"sql": "{sql}"}}')
        rows = answered(user, 'lake.query', sql=sql)['rows']
        most = max(len(rows), len(clear_rows))
        lines = {'steward': clear_rows, 'agent of the steward': [tuple(row) for row in rows]}
        show_table(pa.table({name: ['{}  {:<4}  {}  {}'.format(*some[at]) if at < len(some) else '' for at in range(most)]
                             for name, some in lines.items()}))
        namespace, _, name = table.partition('.')
        show_statement('agent of the steward', f'lake.explain_access {{"namespace": "{namespace}", "table": "{name}"}}')
        why = answered(user, 'lake.explain_access', namespace=namespace, table=name)
        show_table(pa.table({'column': [one['column'] for one in why['masked_columns']],
                             'shown as': [one['shown_as'] for one in why['masked_columns']],
                             'note': [one['note'] for one in why['masked_columns']],
                             'asked as': [why['asked_as'] for _ in why['masked_columns']]}))
    finally:
        service.stop()
    show_audit(known['admin'])


def answered(user, tool, **arguments):
    """The structured answer, once the lake has made its masked copies."""
    end = time.monotonic() + SECONDS_FOR_COPIES
    while True:
        answer = user.call(tool, **arguments)
        result = answer.get('result', {})
        if 'structuredContent' in result and not result.get('isError'):
            return result['structuredContent']
        if 'try again' not in str(answer) or time.monotonic() > end:
            raise StackError(f'{tool}: {answer}')
        time.sleep(0.2)


def show_audit(admin):
    path = 'governance/audit?principal=steward&operation=load_table&limit=1'
    show_statement('admin', f'GET {path}')
    show_table(pa.Table.from_pylist([{name: str(one[name]) for name in ('principal', 'actor', 'object', 'decision', 'masked_cols')}
                                     for one in admin.get(path)['entries']]))
