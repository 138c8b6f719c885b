import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LiveTree } from '../../../cli/follow/live-tree.ts';
import type { AgentView } from '../../../protocol/index.ts';
import { agentView } from '../agent-view.ts';
import { FakeScreen, outputOn } from './terminal.ts';

const ROOT = 'a0k3v9x2m4qd7';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function liveTree() {
  const screen = new FakeScreen();
  const output = outputOn(screen);
  return { screen, output, tree: new LiveTree(output) };
}

const agents = (count: number, tokens = 0): AgentView[] =>
  Array.from({ length: count }, (_, index) =>
    agentView(index === 0 ? ROOT : `${ROOT}/worker-${index}`, {
      status_since: new Date().toISOString(),
      usage: {
        input_tokens: 0,
        cached_input_tokens: 0,
        output_tokens: 0,
        reasoning_tokens: 0,
        total_tokens: tokens,
      },
    }),
  );

/** How often something was drawn. */
const drawings = (screen: FakeScreen): number => screen.written.split(' tok').length - 1;

test('however often the session was looked at, it is drawn at most a few times a second', () => {
  const { screen, tree } = liveTree();
  for (let look = 0; look < 200; look++) {
    tree.show(agents(1, look));
    vi.advanceTimersByTime(10);
  }
  expect(drawings(screen)).toBeGreaterThan(3);
  // 2 s at 4 a second, and the first one at once.
  expect(drawings(screen)).toBeLessThanOrEqual(9);
  tree.end();
});

test('it is cut to the height of the terminal, and says how many are left out', () => {
  const { screen, tree } = liveTree();
  screen.rows = 14;
  tree.show(agents(50));
  expect(screen.written).toContain('… 40 more');
  expect(drawings(screen)).toBe(10);
  tree.end();
});

test('a terminal that does not know its own size gets a picture all the same', () => {
  const { screen, tree } = liveTree();
  screen.columns = 0;
  screen.rows = 0;
  tree.show(agents(3));
  expect(screen.written).toContain('worker-2');
  tree.end();
});

test('while it pauses nothing is drawn, and lines are written plainly; then it is there again', () => {
  const { screen, output, tree } = liveTree();
  tree.show(agents(1));
  tree.pause();
  const before = screen.written.length;
  vi.advanceTimersByTime(2_000);
  output.info('a line');
  expect(screen.written.slice(before)).toBe('a line\n');
  tree.resume();
  expect(screen.written.slice(before)).toContain(ROOT);
  tree.end();
});

test('lines go above it, and after the end it is out of the way', () => {
  const { screen, output, tree } = liveTree();
  tree.show(agents(1));
  output.info('a line');
  expect(screen.written.indexOf('a line')).toBeLessThan(screen.written.lastIndexOf(ROOT));
  tree.end();
  const before = screen.written.length;
  vi.advanceTimersByTime(2_000);
  output.info('the last');
  expect(screen.written.slice(before)).toBe('the last\n');
});
