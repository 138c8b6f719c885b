import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseRole } from '../../../activities/roles/parse-role.ts';
import type { Role } from '../../../activities/roles/role.ts';
import { tighten } from '../../../activities/roles/tighten.ts';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { defineTool } from '../../../activities/tools/define-tool.ts';
import { offeredTools } from '../../../activities/tools/offered.ts';
import { CadreError, DIALECT_TOOLS, DIALECTS } from '../../../protocol/index.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';

const COUNTERPARTS: Record<string, string> = {
  Bash: 'shell',
  shell: 'shell',
  exec_command: 'shell',
  Write: 'apply_patch',
  Edit: 'apply_patch',
  apply_patch: 'apply_patch',
  Read: 'read_file',
  read_file: 'read_file',
  Grep: 'grep_files',
  WebSearch: 'web_search',
  Task: 'spawn_agent',
  Agent: 'spawn_agent',
};
const tools = ['shell', 'apply_patch', 'read_file', 'grep_files', 'web_search', 'update_plan', 'deploy'].map(
  (name) =>
    defineTool({
      name,
      description: name,
      effects: ['shell', 'apply_patch', 'deploy'].includes(name) ? 'some' : 'none',
      parameters: z.strictObject({}),
      run: async () => '',
    }),
);

/** What an agent of the role is offered; nothing where its file is refused, which has to be done properly. */
function offered(text: string, path = 'r.md'): string[] {
  const role = roleOf(text, path);
  if (role === undefined) return [];
  const agent = agentIn({ working_directory: '/', sandbox_mode: 'danger-full-access' });
  const settings = { ...agent.settings, ...tighten(agent.settings, role) };
  return offeredTools({ ...agent, settings }, sessionWith({ tools: { web_search: true } }), tools).map(
    ({ name }) => name,
  );
}
function roleOf(text: string, path = 'r.md'): Role | undefined {
  try {
    return parseRole('r', text, path).role;
  } catch (error) {
    if (!(error instanceof CadreError)) throw error;
    expect(error.code).toBe('config_invalid');
    expect(error.message).toMatch(/^r\.(md|toml):\d+: ./);
    return undefined;
  }
}
const fileWith = (values: Record<string, unknown>) =>
  `---\n${Object.entries({ description: 'd', ...values })
    .map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}\n`)
    .join('')}---\nbody\n`;

const toolName = fc.constantFrom(...Object.keys(COUNTERPARTS));
/** A name as people write it: in other case, for some calls only, with blanks around. */
const written = fc
  .tuple(toolName, fc.constantFrom('', '(*)', '(rm:*)', '(./x/**, y)', '( )'), fc.constantFrom('', ' ', '\t'))
  .map(([name, only, blank]) => `${blank}${name}${only}${blank}`);
const inAnyCase = (name: string) => [
  ...[name, name.toLowerCase(), name.toUpperCase()],
  ...[`${name.slice(0, 3)}*`, `${name.slice(0, 3).toUpperCase()}*`],
];

/** Another way to write a key: with dashes, underscores, blanks, in other case. */
const spelling = (key: string) =>
  fc
    .tuple(
      fc.constantFrom('', '-', '_'),
      fc.constantFrom(
        (text: string) => text,
        (text: string) => text.toLowerCase(),
        (text: string) => text.toUpperCase(),
      ),
    )
    .map(([between, cased]) => cased(key.replace(/_/g, between).replace(/(?<=[a-z])(?=[A-Z])/g, between)));

test('what is denied is never offered, however it is written', () => {
  const key = fc.constantFrom('disallowedTools', 'deny_list', 'denied_tools').chain(spelling);
  fc.assert(
    fc.property(
      key,
      fc.array(written, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      (key, denied, asText) => {
        const has = offered(fileWith({ [key]: asText ? denied.join(',') : denied }));
        for (const entry of denied) {
          const name = entry.trim().replace(/\(.*/s, '');
          expect(has, `${key}: ${denied}`).not.toContain(COUNTERPARTS[name]);
        }
      },
    ),
    { numRuns: 400 },
  );
});

test.each(DIALECTS)('whoever is denied Task, or Agent, has no tool of sub-agents: %s', (dialect) => {
  const { operations, readers } = DIALECT_TOOLS[dialect];
  const own = [...operations.map(({ name }) => name), ...readers];
  const offeredOf = (denied: string[]) => {
    const { settings, ...agent } = agentIn({ working_directory: '/', dialect });
    const role = roleOf(fileWith({ deny_list: denied }));
    const tightened = { ...settings, ...tighten(settings, role as Role) };
    return offeredTools({ ...agent, settings: tightened }, sessionWith(), builtinTools).map(
      ({ name }) => name,
    );
  };
  expect(offeredOf([])).toEqual(expect.arrayContaining(own));
  for (const denied of ['Task', 'Agent']) {
    expect(offeredOf([denied]).filter((name) => own.includes(name))).toEqual([]);
  }
});

test('whoever is denied SendMessage has no tool that sends one, in any dialect', () => {
  const { role } = parseRole('tester', fileWith({ disallowedTools: ['SendMessage'] }), 'tester.md');
  expect(role.deny_list).toEqual(expect.arrayContaining(['send_input', 'agent_eval', 'subagent_reply']));
});

test('a denial takes away the same in any case, and never gives', () => {
  const open = offered(fileWith({}));
  expect(open).toContain('shell');
  for (const [name, tool] of Object.entries(COUNTERPARTS)) {
    for (const entry of inAnyCase(name)) {
      const has = offered(fileWith({ deny_list: [entry] }));
      expect(has, entry).not.toContain(tool);
      expect(open).toEqual(expect.arrayContaining(has));
    }
  }
});

test('no list of tools allows what none of its entries names whole', () => {
  const entry = fc.oneof(written, fc.string({ maxLength: 12 }));
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 4 }),
      fc.constantFrom('tools', 'allow_list', 'Tools'),
      (list, key) => {
        const has = offered(fileWith({ [key]: list }));
        for (const tool of ['shell', 'apply_patch', 'deploy']) {
          const names = list.filter((text) => {
            const [name = '', only = ''] = text.trim().split(/(?=\()/s, 2);
            const isWhole = /^(\(\s*(\*|:\*)?\s*\))?$/.test(only);
            const meant = Object.entries(COUNTERPARTS).find(
              ([known]) => known.toLowerCase() === name.toLowerCase(),
            )?.[1];
            return isWhole && (meant === tool || name === tool || /[*?]/.test(name));
          });
          if (names.length === 0) expect(has, JSON.stringify(list)).not.toContain(tool);
        }
      },
    ),
    { numRuns: 400 },
  );
});

test('a key that may take something away does so, or the file is refused', () => {
  const restrictive = fc.oneof(
    ...['read_only', 'readOnly', 'read-only', 'READONLY'].map((key) => fc.constant([key, true] as const)),
    ...['sandbox', 'sandbox_mode', 'sandboxPolicy'].map((key) => fc.constant([key, 'read-only'] as const)),
    fc.constant(['permissionMode', 'plan'] as const),
    fc.constant(['permission-mode', 'locked'] as const),
    fc
      .tuple(
        fc.constantFrom(
          'forbidden',
          'blocked-tools',
          'excludedTools',
          'tools_denied',
          'restrict_to',
          'disabled',
        ),
        fc.constantFrom<unknown>(true, ['Bash', 'Write'], 'Bash, Write', { Bash: 'deny' }, 1),
      )
      .map(([key, value]) => [key, value] as const),
  );
  fc.assert(
    fc.property(restrictive, ([key, value]) => {
      const has = offered(fileWith({ [key]: value }));
      expect(has, `${key}: ${JSON.stringify(value)}`).not.toContain('apply_patch');
      expect(has).not.toContain('deploy');
    }),
  );
});

test('whatever the values of the keys are, the file is a role or refused with its line', () => {
  const keys = [
    ...[
      'description',
      'tools',
      'allow_list',
      'deny_list',
      'model',
      'reasoning_effort',
      'read_only',
      'dialect',
    ],
    ...[
      'max_turns',
      'max_steps',
      'agent_names',
      'disallowedTools',
      'permissionMode',
      'maxTurns',
      'effort',
      'hooks',
    ],
    ...['sandbox_mode', 'approval_policy', 'name', 'color', '__proto__', 'constructor', 'x'],
  ];
  const values = fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 3 }), {
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(values, (values) => {
      const role = roleOf(fileWith(values));
      if (role === undefined) return;
      const { read_only } = values as { read_only?: unknown };
      expect(read_only === undefined || typeof read_only === 'boolean').toBe(true);
      if (read_only === true) expect(role.read_only).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('a file says the same with a mark of byte order, other line ends, blanks around and a fence', () => {
  const text = fc.string({ minLength: 1, maxLength: 60 }).filter((text) => text.trim() !== '');
  const line = fc
    .stringMatching(/^[ -_a-~]{1,40}$/)
    .filter((text) => text.trim() !== '' && !text.includes('---'));
  const disguise = fc.constantFrom(
    (file: string) => `\ufeff${file}`,
    (file: string) => file.replaceAll('\n', '\r\n'),
    (file: string) => file.replaceAll('\n', '\r'),
    (file: string) => `\n \n${file}\n\n`,
    (file: string) => `\`\`\`md\n${file}\`\`\``,
    (file: string) => `\ufeff\r\n\`\`\`markdown\r\n${file.replaceAll('\n', '\r\n')}\`\`\`\r\n\r\n`,
    (file: string) => file.replaceAll('---\n', '---\t \n'),
  );
  fc.assert(
    fc.property(
      text,
      fc.array(line, { minLength: 1, maxLength: 4 }),
      disguise,
      (description, lines, disguise) => {
        const file = `---\ndescription: ${JSON.stringify(description)}\n---\n${lines.join('\n')}\n`;
        const plain = roleOf(file);
        expect(plain).toMatchObject({ description: description.trim() });
        expect(roleOf(disguise(file))).toEqual(plain);
      },
    ),
    { numRuns: 300 },
  );
});

test('whatever a TOML file holds, it is a role or refused with its line', () => {
  const pieces = fc.constantFrom(
    ...[
      'description = "d"',
      'developer_instructions = "x"',
      '\n',
      '[tools]',
      'web_search = false',
      '[[a]]',
      '"',
      "'''",
    ],
    ...[
      '"""',
      'a.b = 1',
      'sandbox_mode = "read-only"',
      'sandbox_mode = 1',
      '= ',
      '#',
      '\t',
      '{',
      '}',
      '[',
      '\r\n',
    ],
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces, { maxLength: 20 }).map((parts) => parts.join('\n')),
      ),
      (text) => {
        const has = offered(text, 'r.toml');
        if (/^web_search = false/m.test(text) && /^sandbox_mode = "read-only"/m.test(text)) {
          expect(has).not.toContain('apply_patch');
        }
      },
    ),
    { numRuns: 400 },
  );
});
