/**
 * Measures what people wait for and prints a table. `npm run bench`, or `npm run bench -- step spawn` for some of it.
 * The server is the embedded one with its database in a file; the model answers at once, over HTTP.
 * `npm run bench -- --rivals` compares with Temporal's own plug-in for the OpenAI Agents SDK instead.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { fanOut, interruptTimes, spawnTimes, stepTimes } from './agents.ts';
import { firstRequestTimes, helpTimes } from './command-line.ts';
import { COMPARED, compare } from './comparison.ts';
import { historyGrowth } from './history.ts';
import { Stage } from './stage.ts';
import { summarize } from './statistics.ts';
import { TOOL_CALLS, toolTimes } from './tools.ts';

interface Row {
  name: string;
  wanted: string;
  unit: string;
  measure(stage: Stage): Promise<number[]>;
}

const rows: Record<string, Row[]> = {
  help: [{ name: 'cadre --help', wanted: '< 200', unit: 'ms', measure: () => helpTimes(20) }],
  run: [
    {
      name: 'cadre run to first model request, server running',
      wanted: '< 1,500',
      unit: 'ms',
      measure: () => firstRequestTimes(10, 'running'),
    },
    {
      name: 'cadre run to first model request, no server',
      wanted: '< 6,000',
      unit: 'ms',
      measure: () => firstRequestTimes(5, 'none'),
    },
  ],
  step: [
    {
      name: 'step: one model call, one read tool',
      wanted: '< 50',
      unit: 'ms',
      measure: (stage) => stepTimes(stage, 7, 50),
    },
  ],
  interrupt: [
    {
      name: 'interrupt to the end of the process group',
      wanted: '< 2,000',
      unit: 'ms',
      measure: (stage) => interruptTimes(stage, 10),
    },
  ],
  spawn: [
    {
      name: 'spawn to first model request of the child',
      wanted: '< 150',
      unit: 'ms',
      measure: (stage) => spawnTimes(stage, 30),
    },
  ],
  fanout: [
    {
      name: '50 children × 5 steps',
      wanted: '≥ 30',
      unit: 'steps/s',
      measure: async (stage) => [
        await fanOut(stage, 50, 5),
        await fanOut(stage, 50, 5),
        await fanOut(stage, 50, 5),
      ],
    },
  ],
  tools: Object.keys(TOOL_CALLS).map((name) => ({
    name,
    wanted: '',
    unit: 'ms',
    measure: () => toolTimes(name, 15),
  })),
  history: [25, 100].flatMap((steps) =>
    (['source', 'random'] as const).map((kind) => ({
      name: `history a step after ${steps} steps, 8 KB ${kind === 'source' ? 'of source code' : 'at random'}`,
      wanted: kind === 'source' ? '< 8,192, flat' : '< 17,600, flat',
      unit: 'bytes',
      measure: async (stage: Stage) => {
        const { bytes } = await historyGrowth(stage, [steps], kind);
        return [(bytes.get(steps) ?? Number.NaN) / steps];
      },
    })),
  ),
};

const { values: flags, positionals: wanted } = parseArgs({
  options: { rivals: { type: 'boolean', default: false }, rounds: { type: 'string', default: '5' } },
  allowPositionals: true,
});
const known: readonly string[] = flags.rivals ? COMPARED : Object.keys(rows);
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`No such measurement: ${unknown.join(', ')}. There are: ${known.join(', ')}.`);
  process.exit(2);
}

console.log(
  `Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model}), load ${loadavg()[0]?.toFixed(1)}, ${new Date().toISOString()}`,
);
if (flags.rivals) {
  await compare(
    COMPARED.filter((name) => wanted.length === 0 || wanted.includes(name)),
    Number(flags.rounds),
  );
  process.exit(0);
}
console.log('Embedded server, database in a file (WAL, synchronous=1); model at zero latency over HTTP.\n');
console.log('| what | median | p95 | unit | n | wanted |');
console.log('| --- | ---: | ---: | --- | ---: | --- |');
const stage = await Stage.open();
try {
  // The first session pays for what is loaded once.
  await stage.session(() => ({ text: 'warm' }));
  for (const [key, group] of Object.entries(rows)) {
    if (wanted.length > 0 && !wanted.includes(key)) continue;
    for (const row of group) {
      const { median, p95, count } = summarize(await row.measure(stage));
      console.log(
        `| ${row.name} | ${show(median)} | ${show(p95)} | ${row.unit} | ${count} | ${row.wanted} |`,
      );
    }
  }
} finally {
  await stage.close();
}
process.exit(0);

function show(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 });
}
