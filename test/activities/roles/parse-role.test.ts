import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRole } from '../../../activities/roles/parse-role.ts';
import { CadreError } from '../../../protocol/index.ts';

const parse = (text: string) => parseRole('tester', text, 'roles/tester.md');
const MINIMAL = '---\ndescription: Tests things.\n---\n\nYou test.\n';

test('a role has the name of its file, its keys and its text', () => {
  const text = `---
description: Tests things.
read_only: true
tools: [shell, read_file]
deny_list: "mcp__*, wait"
model: gpt-5
max_steps: 5
agent_names:
  - name: quick
    prompt: Be quick.
    reasoning_effort: low
    max_tokens: 20000
max_tokens: 50000
---
You test.

---
A line is only a line here.
`;
  expect(parse(text)).toEqual({
    role: {
      name: 'tester',
      description: 'Tests things.',
      read_only: true,
      tools: ['shell', 'read_file'],
      deny_list: ['mcp__*', 'wait'],
      model: 'gpt-5',
      max_steps: 5,
      max_tokens: 50_000,
      agent_names: [{ name: 'quick', prompt: 'Be quick.', reasoning_effort: 'low', max_tokens: 20_000 }],
      body: 'You test.\n\n---\nA line is only a line here.',
    },
    warnings: [],
  });
});

test('an absent list of tools means all, an empty one none', () => {
  expect(parse(MINIMAL).role.tools).toBeUndefined();
  expect(parse(MINIMAL.replace('---\n\n', 'tools: []\n---\n\n')).role.tools).toEqual([]);
  expect(parse(MINIMAL.replace('---\n\n', 'tools: ""\n---\n\n')).role.tools).toEqual([]);
});

test.each([
  ['a byte order mark', `\ufeff${MINIMAL}`],
  ['CRLF', MINIMAL.replaceAll('\n', '\r\n')],
  ['blanks around', `\n\n${MINIMAL}\n\n  `],
  ['blanks behind the dashes', MINIMAL.replaceAll('---', '---  ')],
  ['a code fence', `\`\`\`markdown\n${MINIMAL}\`\`\`\n`],
  ['a longer fence', `\`\`\`\`md\n${MINIMAL}\`\`\`\`\n`],
  ['a fence of tildes', `~~~\n${MINIMAL}~~~\n`],
  ['a fence with other words', `\`\`\`Markdown {1}\n${MINIMAL}\`\`\`\n`],
  ['a fence around the frontmatter', MINIMAL.replace('---', '```yaml\n---').replace('---\n\n', '---\n```\n')],
])('%s are tolerated', (_, text) => {
  expect(parse(text).role).toMatchObject({ description: 'Tests things.', body: 'You test.' });
});

test.each([
  ['Reviews code: finds bugs', 'Reviews code: finds bugs'],
  ['[beta] Does x: and y', '[beta] Does x: and y'],
  ['*Important* agent: use it', '*Important* agent: use it'],
  ['"Fast" agent for x', '"Fast" agent for x'],
  [
    'Use this when … Examples:\\n\\n<example>\\nContext: "quoted" text\\n</example>',
    'Use this when … Examples:\\n\\n<example>\\nContext: "quoted" text\\n</example>',
  ],
])('a description on one line that is no YAML is taken as it is: %s', (written, read) => {
  const { role } = parse(`---\nname: tester\ndescription: ${written}\nread_only: true\n---\nYou test.\n`);
  expect(role).toMatchObject({ description: read, read_only: true });
});

test('errors behind such a description stand in their own line', () => {
  const text = '---\ndescription: Reviews code: "finds" bugs\nmax_steps: x\nmodel: m\n---\nYou test.\n';
  expect(() => parse(text)).toThrow(/^roles\/tester.md:3: max_steps: /);
});

test('what is no YAML elsewhere is refused with its line all the same', () => {
  const text = '---\ndescription: a: b\nmodel: c: d\n---\nYou test.\n';
  expect(() => parse(text)).toThrow(/^roles\/tester.md:[23]: invalid YAML/);
});

test('a restriction behind the end of a YAML document is not left out', () => {
  const text = '---\ndescription: x\n...\nread_only: true\n---\nYou test.\n';
  expect(() => parse(text)).toThrow(/^roles\/tester.md:[34]: a second YAML document begins here/);
});

test('a restriction that a merge key brings counts', () => {
  const text = '---\ndescription: x\nagent_names: &a []\n<<: {read_only: true}\n---\nYou test.\n';
  expect(parse(text).role.read_only).toBe(true);
});

test('two personas of one name, and a description that is missing, are told as that', () => {
  const twice = '---\ndescription: x\nagent_names: [{name: a}, {name: a}]\n---\nYou test.\n';
  expect(() => parse(twice)).toThrow(/tester.md:3: agent_names: two personas have the same name/);
  expect(() => parse('---\nmodel: m\n---\nYou test.\n')).toThrow(/description: it is missing/);
});

test.each([
  'settings: {read_only: true}',
  'metadata: {disallowedTools: [Bash]}',
  'features: {shell_tool: false}',
  'ban: [shell]',
  'without: [shell]',
  'no_tools: true',
  'prohibited: [shell]',
  'remove_tools: [shell]',
  'edit: false',
  'bash: no',
  'write: deny',
  'web_access: off',
  'include_apply_patch_tool: false',
  'mode: plan',
  'workMode: read-only',
])('what may take something away, and is not understood, is refused: %s', (line) => {
  expect(() => parse(`---\ndescription: x\n${line}\n---\nYou test.\n`)).toThrow(/may take something away/);
});

test('unknown keys and another name only warn', () => {
  const { role, warnings } = parse('---\nname: other\nflavour: sweet\ndescription: d\n---\nbody');
  expect(role.name).toBe('tester');
  expect(warnings).toEqual([
    'roles/tester.md:2: the name "other" is ignored, the file name counts',
    'roles/tester.md:3: unknown key "flavour"',
  ]);
});

test.each([
  ['', 'roles/tester.md:1: missing YAML frontmatter'],
  ['just text', 'roles/tester.md:1: missing YAML frontmatter'],
  ['---\ndescription: d\n', 'roles/tester.md:1: missing YAML frontmatter'],
  ['---\ndescription: d\n---\n', 'roles/tester.md:3: must have a non-empty body'],
  ['---\ndescription: d\n---\n  \n\n', 'roles/tester.md:3: must have a non-empty body'],
  ['---\n---\nbody', 'roles/tester.md:2: the frontmatter must hold keys with values, such as description: …'],
  [
    '---\n- a\n---\nbody',
    'roles/tester.md:2: the frontmatter must hold keys with values, such as description: …',
  ],
  ['---\nmodel: m\n---\nbody', 'roles/tester.md:1: description'],
  ['---\ndescription: ""\n---\nbody', 'roles/tester.md:2: description'],
  ['---\ndescription: d\nmax_steps: 0\n---\nbody', 'roles/tester.md:3: max_steps'],
  ['---\ndescription: d\nread_only: maybe\n---\nbody', 'roles/tester.md:3: read_only'],
  ['---\ndescription: d\ndialect: latin\n---\nbody', 'roles/tester.md:3: dialect'],
  [
    '---\ndescription: d\nagent_names:\n  - name: a\n    max_tokens: 0\n---\nbody',
    'roles/tester.md:5: agent_names.0.max_tokens',
  ],
  [
    '---\ndescription: d\nagent_names:\n  - name: a\n  - prompt: b\n---\nbody',
    'roles/tester.md:5: agent_names.1.name',
  ],
  ['\n\n```md\n---\ndescription: d\nmax_steps: 0\n---\nbody\n```', 'roles/tester.md:6: max_steps'],
  ['---\ndescription: d\ndescription: e\n---\nbody', 'roles/tester.md:3: invalid YAML'],
  ['---\ndescription: d\n\tmodel: x\n---\nbody', 'roles/tester.md:3: invalid YAML'],
  ['---\ndescription: "open\n---\nbody', 'roles/tester.md:'],
])('a broken file is reported with path, line and reason: %j', (text, message) => {
  expect(() => parse(text)).toThrow(message);
  expect(() => parse(text)).toThrow(CadreError);
});

test.each<[string, object]>([
  ['hooks: {PermissionRequest: [{matcher: Bash}]}', { deny_list: ['shell'] }],
  ['hooks: {preToolUse: [{matcher: Bash}]}', { deny_list: ['shell'] }],
  ['hooks: {BeforeEverything: [{}]}', { deny_list: ['*'] }],
  ['hooks: {PreToolUse: [{matcher: Delegate}]}', { deny_list: ['Delegate'], read_only: true }],
  ['disallowedTools: "Computer*"', { deny_list: ['computer*', 'Computer*'], read_only: true }],
  ['disallowedTools: "deploy_*"', { deny_list: ['deploy_*'] }],
  ['mcp_servers: {gh: {enabled: false}, ok: {command: x}}', { deny_list: ['mcp__gh__*'] }],
  ['mcpServers: {gh: {disabled_tools: [a, b]}}', { deny_list: ['mcp__gh__a', 'mcp__gh__b'] }],
  ['mcp_servers: {gh: {enabled_tools: [a]}}', { deny_list: ['mcp__gh__*'] }],
  ['hooks: {PostToolUse: [{matcher: Bash}], Stop: [{}]}', {}],
])('what is denied without being understood never widens: %s', (line, wanted) => {
  const { role, warnings } = parse(`---\ndescription: x\n${line}\n---\nYou test.\n`);
  const { name: _, description: __, body: ___, ...rest } = role;
  expect(rest).toEqual(wanted);
  expect(warnings).not.toEqual([]);
});

test('an approval policy that asks less often is told, and not taken', () => {
  const { role, warnings } = parse('---\ndescription: x\napproval_policy: on-failure\n---\nYou test.\n');
  expect(role.approval_policy).toBeUndefined();
  expect(warnings).toEqual([expect.stringMatching(/:3: approval_policy on-failure has no counterpart/)]);
});

test('of very many notices the first are told', () => {
  const keys = Array.from({ length: 900 }, (_, n) => `flavour${n}: x`).join('\n');
  const { warnings } = parse(`---\ndescription: x\n${keys}\n---\nYou test.\n`);
  expect(warnings).toHaveLength(51);
  expect(warnings.at(-1)).toBe('roles/tester.md: and 850 more notices');
});

test('what is nested too deeply is told so', () => {
  expect(() => parse(`---\ndescription: x\nx: ${'['.repeat(20_000)}\n---\nYou test.\n`)).toThrow(
    /invalid YAML: it is nested too deeply/,
  );
});

test('a file of 10 MB and a bomb of aliases are refused', () => {
  expect(() => parse(`---\ndescription: d\n---\n${'x'.repeat(1e7)}`)).toThrow('is larger than 64 KiB');
  const levels = Array.from({ length: 9 }, (_, i) =>
    i === 0
      ? 'a0: &a0 [x,x,x,x,x,x,x,x,x]'
      : `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(',')}]`,
  );
  expect(() => parse(`---\ndescription: d\n${levels.join('\n')}\n---\nbody`)).toThrow('invalid YAML');
});

test('whatever a file holds, it is a role or a CadreError', () => {
  const pieces = fc.constantFrom(
    '---',
    '\n',
    'description: d',
    'tools: ',
    '[',
    ']',
    '&a',
    '*a',
    '!!x',
    '\t',
    '{',
    '"',
    ': ',
    'body',
    '```',
    '\r\n',
    '\0',
    '? ',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces, { maxLength: 20 }).map((parts) => parts.join('')),
      ),
      (text) => {
        try {
          expect(parse(text).role.body).not.toBe('');
        } catch (error) {
          if (!(error instanceof CadreError)) throw error;
          expect(error.message).toMatch(/^roles\/tester\.md:\d+: ./);
        }
      },
    ),
    { numRuns: 500 },
  );
});
