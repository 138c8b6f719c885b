import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RESULT_SECTIONS, readSections, SECTIONS_ASKED } from '../../protocol/index.ts';

const PLAIN = `SUMMARY: I looked.
CHANGES: None.
EVIDENCE:
- a.ts:1-3 does it
- b.ts:9 as well

RISKS: none that I know
BLOCKERS: None.`;

const READ = {
  contract: 'ok',
  sections: {
    summary: 'I looked.',
    changes: 'None.',
    evidence: '- a.ts:1-3 does it\n- b.ts:9 as well',
    risks: 'none that I know',
    blockers: 'None.',
  },
};

/** The same in another form. */
const written = (label: (name: string) => string): string =>
  PLAIN.replaceAll(/^([A-Z]+):/gm, (_, name: string) => label(name));
const inCase = (name: string): string => `${name[0]}${name.slice(1).toLowerCase()}`;

describe('the sections of a result', () => {
  test.each<[string, string]>([
    ['as they are asked for', PLAIN],
    ['behind other text', `Here is what I found.\n\n${PLAIN}`],
    ['in small letters', written((name) => `${name.toLowerCase()}:`)],
    ['as Markdown headings', written((name) => `## ${inCase(name)}\n\n`)],
    ['as headings with colons', written((name) => `### ${name}:\n`)],
    ['in bold', written((name) => `**${inCase(name)}:**`)],
    ['in bold, the colon outside', written((name) => `**${name}**:`)],
    ['in bold on lines of their own', written((name) => `**${inCase(name)}**\n`)],
    [
      'numbered',
      written((name) => `${RESULT_SECTIONS.indexOf(name.toLowerCase() as 'risks') + 1}. **${name}:**`),
    ],
    ['as a list', written((name) => `- **${inCase(name)}**:`)],
    ['without colons', written((name) => `${name}`)],
    ['on lines of their own', written((name) => `${inCase(name)}\n`)],
    ['with dashes', written((name) => `**${inCase(name)}** —`)],
    ['with wide colons', written((name) => `${name}：`)],
    ['in brackets', written((name) => `【${name}】`)],
    ['as code', written((name) => `\`${name}\`:`)],
    ['with remarks', written((name) => `${name} (as asked):`)],
    ['indented', written((name) => `  ${name}:`)],
    ['between rules', written((name) => `---\n${name}:`)],
    ['underlined', written((name) => `${inCase(name)}\n-----\n`)],
    ['with carriage returns', PLAIN.replaceAll('\n', '\r\n')],
    ['all in one fence', `\`\`\`text\n${PLAIN}\n\`\`\``],
    ['with an earlier draft', `Summary: I am about to look.\n\n${PLAIN}`],
    ['with a last word', `${PLAIN}\n\n---\n`],
  ])('are read %s', (_, text) => {
    const { contract, sections } = readSections(text);
    expect(contract).toBe('ok');
    const withoutCr = Object.entries(sections).map(([name, value]) => [name, value.replaceAll('\r', '')]);
    expect(Object.fromEntries(withoutCr)).toEqual(READ.sections);
  });

  test.each([
    ['', 'missing'],
    ['All is well.', 'missing'],
    ['Summary of what I did, with changes:', 'missing'],
    ['Changes were made to **Evidence** in a list.', 'missing'],
    ['- Risks: see below\n- Summary: as above', 'missing'],
    ['SUMMARY: done', 'partial'],
    ['SUMMARY:\nCHANGES:\nEVIDENCE:\nRISKS:\nBLOCKERS:', 'missing'],
    [PLAIN.replace('None.', ''), 'partial'],
    [PLAIN.slice(0, PLAIN.indexOf('RISKS')), 'partial'],
  ])('of %j are %s', (text, contract) => {
    expect(readSections(text).contract).toBe(contract);
  });

  test('may stand in another order, and say something twice', () => {
    const { contract, sections } = readSections(
      'BLOCKERS: no\nSUMMARY: yes\nRISKS: a\nCHANGES: x\nRISKS: b\nEVIDENCE: e\nBLOCKERS: None.',
    );
    expect(contract).toBe('ok');
    expect(sections).toEqual({
      summary: 'yes',
      changes: 'x',
      evidence: 'e',
      risks: 'a\nb',
      blockers: 'None.',
    });
  });

  test('that are quoted in a fence are part of the text', () => {
    const quoted = PLAIN.replace('- b.ts:9 as well', '```\nRISKS: what another one wrote\n```');
    expect(readSections(quoted).sections).toMatchObject({
      evidence: '- a.ts:1-3 does it\n```\nRISKS: what another one wrote\n```',
      risks: 'none that I know',
    });
  });

  test('are read from what was written after what is asked for', () => {
    const told = SECTIONS_ASKED.split('\n').filter((line) => /^[A-Z]+:/.test(line));
    expect(told.map((line) => line.split(':')[0]?.toLowerCase())).toEqual([...RESULT_SECTIONS]);
    expect(readSections(SECTIONS_ASKED).contract).toBe('ok');
  });
});

const word = fc.stringMatching(/^[a-z0-9./]{1,12}$/).filter((text) => !/^[-=_*]+$/.test(text));
const sentence = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => `I ${words.join(' ')}`);
const body = fc.array(sentence, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n'));
const label = fc.constantFrom<((name: string) => string)[]>(
  (name) => `${name}: `,
  (name) => `${name}:\n`,
  (name) => `# ${inCase(name)}\n`,
  (name) => `**${name.toLowerCase()}:** `,
  (name) => `**${name}**\n\n`,
  (name) => `${name}\n`,
);

test('whatever is written under each name, in whatever form, is what is read', () => {
  const some = fc.array(fc.tuple(fc.constantFrom(...RESULT_SECTIONS), body, label), { maxLength: 5 });
  fc.assert(
    fc.property(some, (given) => {
      const parts = RESULT_SECTIONS.flatMap((name) =>
        given.filter(([section]) => section === name).slice(0, 1),
      );
      const text = parts.map(([name, text, form]) => `${form(name.toUpperCase())}${text}\n`).join('\n');
      const { contract, sections } = readSections(text);
      expect(sections).toEqual(Object.fromEntries(parts.map(([name, text]) => [name, text])));
      expect(contract).toBe(parts.length === 5 ? 'ok' : parts.length === 0 ? 'missing' : 'partial');
    }),
  );
});

test('any text at all is read, and nothing is read that does not stand there', () => {
  const pieces = fc.array(
    fc.oneof(
      fc.string(),
      fc.constantFrom('SUMMARY', '**', '## ', ':', '\n', '```', 'Risks', '- ', '(', '> '),
    ),
  );
  fc.assert(
    fc.property(pieces, (given) => {
      const text = given.join('');
      for (const section of Object.values(readSections(text).sections)) {
        for (const line of section.split('\n')) expect(text).toContain(line);
      }
    }),
  );
});

test('a long text takes no long time', () => {
  const begun = performance.now();
  for (const piece of ['SUMMARY: ', '**', '> '.repeat(90), 'x ', '(', '\n', '`'.repeat(10)]) {
    readSections(piece.repeat(1_000_000 / piece.length));
  }
  expect(performance.now() - begun).toBeLessThan(20_000);
});
