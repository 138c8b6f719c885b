import { expect, test } from 'vitest';
import { withFields } from '../../client/with-fields.ts';
import { subagentResultSchema } from '../../protocol/index.ts';

const result = {
  agent_name: 'writer',
  task: 'a "task"\n',
  success: false,
  output: '',
  error: 'who are you?',
};

test('a result is the same as text and as fields', () => {
  const answer = withFields({ success: false, output: JSON.stringify(result) });
  expect(subagentResultSchema.parse(answer.structured)).toEqual(result);
  expect(JSON.parse(answer.output)).toEqual(result);
});

test.each(['', 'plain', '[1]', 'null', '5', '{"cut'])('what is no object has no fields: %s', (output) => {
  expect(withFields({ success: true, output })).toEqual({ success: true, output });
});
