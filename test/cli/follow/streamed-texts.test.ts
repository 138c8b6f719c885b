import { expect, test } from 'vitest';
import { StreamedTexts } from '../../../cli/follow/streamed-texts.ts';
import type { AgentId } from '../../../protocol/index.ts';
import { agentView } from '../agent-view.ts';

const AGENT = agentView('a0k3v9x2m4qd7' as AgentId);
const OTHER = agentView('a0k3v9x2m4qd7/worker-1' as AgentId);

const told = (texts: StreamedTexts, call: string, text: string, offset = 0, agent = AGENT) => {
  const news = texts.news(agent, { call, text, offset }, 0);
  return news === undefined ? undefined : [news.offset, news.text];
};

test('each piece of an answer is told once, and what is no news is not', () => {
  const texts = new StreamedTexts();
  expect(told(texts, '5.1', 'One')).toEqual([0, 'One']);
  expect(told(texts, '5.1', 'One')).toBeUndefined();
  expect(told(texts, '5.1', 'One, two')).toEqual([3, ', two']);
});

test('only the end of a long answer is at hand: what has come and gone between two looks leaves a gap', () => {
  const texts = new StreamedTexts();
  told(texts, '5.1', '0123');
  expect(told(texts, '5.1', '3456', 3)).toEqual([4, '456']);
  expect(told(texts, '5.1', '9abc', 9)).toEqual([9, '9abc']);
});

test('another call, and another attempt at one, begin at their beginning; so does every agent', () => {
  const texts = new StreamedTexts();
  told(texts, '5.1', 'One, two');
  expect(told(texts, '5.2', 'One')).toEqual([0, 'One']);
  expect(told(texts, '9.1', 'Three')).toEqual([0, 'Three']);
  expect(told(texts, '9.1', 'Four', 0, OTHER)).toEqual([0, 'Four']);
});

test('a piece is a message of its agent without a number, as the whole one comes as an event', () => {
  const at = Date.parse('2026-01-01T00:00:00Z');
  expect(new StreamedTexts().news(OTHER, { call: '5.1', text: 'One', offset: 0 }, at)).toEqual({
    at: '2026-01-01T00:00:00.000Z',
    agent_id: OTHER.agent_id,
    session_id: OTHER.session_id,
    type: 'message',
    role: 'assistant',
    text: 'One',
    partial: true,
    offset: 0,
  });
});
