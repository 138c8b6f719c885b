import { expect, test } from 'vitest';
import { inToolWords } from '../../../cli/mcp/tool-words.ts';

const ID = 'a0k3v9x2m4qd7';

test.each([
  ['`cadre ps --all` lists them.', 'cadre_list with all: true lists them.'],
  [`Come back with: cadre attach ${ID}`, `Come back with: cadre_wait with ids: ["${ID}"]`],
  [`Close it first: cadre close ${ID}/worker-1`, `Close it first: cadre_close with id: "${ID}/worker-1"`],
  ['Ask again: cadre send ID TEXT', 'Ask again: cadre_send'],
  ['`cadre approvals` lists those that are open.', 'cadre_approvals lists those that are open.'],
  [`cadre approve ${ID}#p1, or deny`, `cadre_approve with approval_id: "${ID}#p1", or deny`],
  ['Approve it once, or with --for-session.', 'Approve it once, or with `for_session`.'],
  ['Name one with --model.', 'Name one with `model`.'],
])('%s', (advice, expected) => {
  expect(inToolWords(advice)).toBe(expected);
});

test('a command that no tool stands for stays, and is said to be one', () => {
  expect(inToolWords(`\`cadre attach ${ID}\` works for it, \`cadre worker\` for all.`)).toBe(
    `cadre_wait with ids: ["${ID}"] works for it, \`cadre worker\` for all. (Commands of cadre are for a terminal.)`,
  );
});
