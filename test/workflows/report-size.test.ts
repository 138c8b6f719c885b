import { expect, test } from 'vitest';
import { boundedReport, reportForLookup, reportForWatchers } from '../../workflows/report-size.ts';
import { agentId, reportOf } from './agent-views.ts';

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const CHILD = agentId('worker-1');
// Six bytes of JSON each.
const long = '\u0001'.repeat(400_000);
const ended = { turn: 1, status: 'completed', message: long, duration_ms: 5 } as const;
const report = { ...reportOf(CHILD, 1, { status: 'completed', message: long }), ended };

test('a report fits into a signal, whatever the agent and its turn have said', () => {
  expect(bytes(boundedReport(report, 'parent'))).toBeLessThan(802_000);
  expect(bytes(boundedReport(report, 'root'))).toBeLessThan(130_000);
});

test('all reports to those who wait for an agent fit into one task', () => {
  expect(
    200 * bytes(reportForWatchers({ ...report, view: { ...report.view, message: '' } }, 200)),
  ).toBeLessThan(1_200_000);
});

test('an answer about many agents has a share for each', () => {
  const { view } = reportForLookup(report, 10);
  expect(bytes(view.message)).toBeLessThanOrEqual(20_000);
  expect(bytes(view.message)).toBeGreaterThan(19_000);
});

test('a report that is short stays as it is', () => {
  const short = reportOf(CHILD, 1, { status: 'completed', message: 'done' });
  expect(boundedReport(short, 'root')).toEqual(short);
});
