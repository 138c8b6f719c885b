import { type Item, plainText } from '../../protocol/index.ts';

/** Instructions that end with the agent's task: the first message of its conversation, which stays the first. */
export function withTask(instructions: string, items: readonly Item[]): string {
  const first = items.find((item) => item.type === 'user_message');
  return first === undefined ? instructions : `${instructions}\n\nTask: ${plainText(first.content)}`;
}
