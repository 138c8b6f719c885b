import { describe, expect, test } from 'vitest';
import { patchInCommand } from '../../../activities/patch/patch-in-command.ts';
import { CadreError } from '../../../protocol/index.ts';

const ADD = "*** Begin Patch\n*** Add File: a.txt\n+it's $HOME\n+EOF of it\n*** End Patch";
const ESCAPED = ADD.replace('$', '\\$');
const QUOTED = `'${ADD.replaceAll("'", "'\\''")}'`;
const heredoc = (program = 'apply_patch', mark = "'EOF'", text = ADD) =>
  `${program} <<${mark}\n${text}\nEOF\n`;

describe('a command that only applies a patch is told from others', () => {
  test.each<[string, string | string[], string?]>([
    ['a here-document', heredoc()],
    ['one of another name', heredoc('applypatch')],
    ['one without quotes, with blanks', `  apply_patch  << EOF \n${ESCAPED}\nEOF\n\n`],
    ['one with tabs', heredoc('apply_patch', '-"EOF"').replace('\nEOF', '\n\tEOF')],
    ['one with CRLF', heredoc().replaceAll('\n', '\r\n')],
    ['an argument', `apply_patch ${QUOTED}`],
    ['a list', ['apply_patch', ADD]],
    ['a shell in a list', ['bash', '-lc', heredoc()]],
    ['a shell with a path', ['/bin/sh', '-c', heredoc()]],
    ['a shell in a line', `bash -lc '${heredoc('apply_patch', 'EOF', ESCAPED).replaceAll("'", "'\\''")}'`],
    ['cat and a pipe', `cat <<'EOF' | apply_patch\n${ADD}\nEOF`],
    ['a substitution', `apply_patch "$(cat <<'EOF'\n${ADD}\nEOF\n)"`],
    ['a folder before it', `cd sub && ${heredoc()}`, 'sub'],
    ['a quoted folder, on its own line', `cd 'my sub'\n${heredoc('applypatch')}`, 'my sub'],
    ['several folders', `cd /top; cd sub && ${heredoc()}`, '/top/sub'],
    ['a folder and an argument', `cd sub && apply_patch ${QUOTED}`, 'sub'],
    ['a folder in a shell', ['bash', '-lc', `cd sub && ${heredoc()}`], 'sub'],
    ['a folder and cat', `cd sub && cat <<EOF | apply_patch\n${ESCAPED}\nEOF`, 'sub'],
  ])('%s', (_, command, folder) => {
    expect(patchInCommand(command)).toEqual(folder === undefined ? { input: ADD } : { input: ADD, folder });
  });

  test.each<[string | string[]]>([
    ['ls'],
    ['apply_patch'],
    ['apply_patch --help'],
    ['apply_patch <<EOF'],
    [`${heredoc()}rm -rf x`],
    [`${heredoc()}rm -rf x\nEOF`],
    [`echo x; ${heredoc()}`],
    [`cd sub || ${heredoc()}`],
    [`cd sub | ${heredoc()}`],
    [`cd - && ${heredoc()}`],
    [`cd $SUB && ${heredoc()}`],
    [`cd sub extra && ${heredoc()}`],
    [`sudo ${heredoc()}`],
    [`apply_patch; cat <<EOF ;\n${ADD}\nEOF`],
    [`apply_patch <<EOF | sh\n${ADD}\nEOF`],
    [`apply_patch <<EOF && rm x\n${ADD}\nEOF`],
    [`cat <<EOF | sh\n${ADD}\nEOF # apply_patch`],
    [`cat <<EOF || apply_patch\n${ADD}\nEOF`],
    [`apply_patch ${QUOTED} && ls`],
    [['bash', '-c', 'ls']],
    [['apply_patch']],
    [['sudo', 'apply_patch', ADD]],
    [['bash', '-lc', heredoc(), 'more']],
  ])('not %j', (command) => {
    expect(patchInCommand(command)).toBeUndefined();
  });
});

describe('a here-document whose mark has no quotes', () => {
  const inputOf = (line: string, mark = 'EOF') => patchInCommand(heredoc('apply_patch', mark, line))?.input;

  test.each([
    ['+x "\\$HOME" \\`ls\\`', '+x "$HOME" `ls`'],
    ['+a \\\\ b \\\\\\$c', '+a \\ b \\$c'],
    ['+/a$/ costs $ \\n \\"', '+/a$/ costs $ \\n \\"'],
  ])('is what a shell makes of it: %s', (line, expected) => {
    expect(inputOf(line)).toBe(expected);
    expect(inputOf(line, '"EOF"')).toBe(line);
  });

  test.each(['$HOME', '${', '$(ls)', '`ls`', '$1', '\\\\$x', 'x\\\n+y'])('is refused with %j', (text) => {
    const failing = () => inputOf(`+${text}`);
    expect(failing).toThrow(/A shell would put something else for .* in this here-document/);
    expect(failing).toThrow(CadreError);
    expect(inputOf(`+${text}`, "'EOF'")).toBe(`+${text}`);
  });

  test('of another command is none of ours', () => {
    expect(patchInCommand('cat <<EOF | sh\napply_patch $HOME\nEOF')).toBeUndefined();
  });
});

test.each<[string, string]>([
  ['line breaks', `apply_patch "$(cat <<E${'\n'.repeat(300_000)}x`],
  ['blanks', `apply_patch <<a${' '.repeat(300_000)}x`],
  ['a long mark', `apply_patch <<${'a'.repeat(300_000)}!`],
  ['many here-documents', `apply_patch ${'<<a'.repeat(100_000)}`],
])('a command of very many %s is looked at in a moment', (_, command) => {
  const begun = performance.now();
  expect(patchInCommand(command)).toBeUndefined();
  // Minutes, where the time grows with the square.
  expect(performance.now() - begun).toBeLessThan(8_000);
});
