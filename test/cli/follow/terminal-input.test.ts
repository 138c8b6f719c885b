import { afterEach, expect, test, vi } from 'vitest';
import { TerminalInput } from '../../../cli/follow/terminal-input.ts';
import { FakeKeys, FakeScreen } from './terminal.ts';

afterEach(() => void vi.restoreAllMocks());

function terminal(watchesFocus = true) {
  const keys = new FakeKeys();
  const screen = new FakeScreen();
  const input = new TerminalInput(keys, screen, watchesFocus);
  const pressed: string[] = [];
  input.onKey = (key) => pressed.push(key);
  return { keys, screen, input, pressed };
}

test('the terminal is left as it was found, once everybody has released the keys', () => {
  const { keys, screen, input } = terminal();
  input.acquire();
  input.acquire();
  expect({ raw: keys.raw, written: screen.written }).toEqual({ raw: true, written: '\u001b[?1004h' });
  input.release();
  expect(keys.raw).toBe(true);
  input.release();
  input.release();
  expect({ raw: keys.raw, flowing: keys.flowing }).toEqual({ raw: false, flowing: false });
  expect(screen.written).toBe('\u001b[?1004h\u001b[?1004l');
});

test('the focus is what the terminal says last, also where its report is cut in two', () => {
  const { keys, input, pressed } = terminal();
  input.acquire();
  expect(input.isFocused).toBe(true);
  keys.press('\u001b[O');
  expect(input.isFocused).toBe(false);
  keys.press('\u001b');
  keys.press('[I');
  expect(input.isFocused).toBe(true);
  expect(pressed).toEqual([]);
  input.release();
});

test('keys are told one by one; arrows and the like are none', () => {
  const { keys, input, pressed } = terminal(false);
  input.acquire();
  keys.press('ys\u001b[An\u001bOPä\u001b[1;5Ca');
  expect(pressed).toEqual(['y', 's', 'n', 'ä', 'a']);
  input.release();
  keys.press('y');
  expect(pressed).toHaveLength(5);
});

test('nothing is asked of a terminal whose focus does not matter', () => {
  const { screen, input } = terminal(false);
  input.acquire();
  input.release();
  expect(screen.written).toBe('');
});

test('Ctrl-C is the signal that it always is', () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const { keys, input, pressed } = terminal();
  input.acquire();
  keys.press('\u0003');
  expect(kill).toHaveBeenCalledWith(process.pid, 'SIGINT');
  expect(pressed).toEqual([]);
  input.release();
});

test('Ctrl-Z gives the terminal back until the command goes on', () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const { keys, input } = terminal();
  input.acquire();
  keys.press('\u001a');
  expect(kill).toHaveBeenCalledWith(process.pid, 'SIGTSTP');
  expect(keys.raw).toBe(false);
  process.emit('SIGCONT');
  expect(keys.raw).toBe(true);
  input.release();
});
