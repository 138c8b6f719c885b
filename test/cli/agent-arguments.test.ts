import { expect, test } from 'vitest';
import { agentArguments, lenientUsage } from '../../cli/agent-arguments.ts';
import { LAST } from '../../cli/references.ts';

const ID = 'a0k3v9x2m4qd7';

test.each([
  ['close <id>', 'close [id]'],
  ['send <id> <text>', 'send [id] [text]'],
  ['wait <id...>', 'wait [id...]'],
  ['note <id> [text]', 'note [id] [text]'],
])('%s is known to the parser as %s', (usage, lenient) => {
  expect(lenientUsage(usage)).toBe(lenient);
});

test.each([
  ['close <id>', [ID], false, [ID]],
  ['close <id>', [undefined], true, [LAST]],
  ['close <id>', ['worker-1'], true, ['worker-1']],
  ['send <id> <text>', [ID, 'x'], false, [ID, 'x']],
  ['send <id> <text>', ['x', undefined], true, [LAST, 'x']],
  ['send <id> <text>', ['worker-1', 'x'], true, ['worker-1', 'x']],
  ['note <id> [text]', [undefined, undefined], true, [LAST]],
  ['note <id> [text]', ['a note', undefined], true, [LAST, 'a note']],
  ['wait <id...>', [[]], true, [[LAST]]],
  ['wait <id...>', [['worker-1', 'worker-2']], true, [['worker-1', 'worker-2']]],
  ['approvals [id]', [undefined], false, [undefined]],
  ['approvals [id]', [undefined], true, [LAST]],
])('%s with %j and --last %s means %j', (usage, given, last, expected) => {
  expect(agentArguments(usage, given, last)).toEqual(expected);
});

test.each([
  ['close <id>', [undefined], false, "missing required argument 'id'"],
  ['wait <id...>', [[]], false, "missing required argument 'id'"],
  ['send <id> <text>', [ID, undefined], false, "missing required argument 'text'"],
  ['send <id> <text>', [undefined, undefined], true, "missing required argument 'text'"],
  ['close <id>', [ID], true, '--last stands for an id'],
  ['resume <id> [text]', [ID, undefined], true, '--last stands for an id'],
])('%s with %j and --last %s is wrong usage: %s', (usage, given, last, message) => {
  expect(() => agentArguments(usage, given, last)).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining(message) }),
  );
});
