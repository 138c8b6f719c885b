import { expect, test } from 'vitest';
import { withTask } from '../../../activities/model/with-task.ts';
import type { Item } from '../../../protocol/index.ts';

const user = (text: string): Item => ({ type: 'user_message', content: [{ type: 'text', text }] });

test('the task is the first message, behind a blank line, and stays so', () => {
  expect(withTask('You write.', [user('Write a guide')])).toBe('You write.\n\nTask: Write a guide');
  const later = [
    user('Write a guide'),
    { type: 'assistant_message', text: 'Done.' } as Item,
    user('And more'),
  ];
  expect(withTask('You write.', later)).toBe('You write.\n\nTask: Write a guide');
  expect(withTask('You write.', [])).toBe('You write.');
});
