import { loadavg } from 'node:os';
import type { OutputKind } from '../test/support/large-outputs.ts';
import { fanOut, stepTimes } from './agents.ts';
import type { Contender } from './contender.ts';
import { type DevServer, startDevServer } from './dev-server.ts';
import { type HistoryGrowth, historyGrowth } from './history.ts';
import { Rival, type RivalMode } from './rival.ts';
import { prepareRivals, rivalVersions } from './rival-packages.ts';
import { Stage } from './stage.ts';
import { summarize } from './statistics.ts';

export const COMPARED = ['step', 'fanout', 'history'] as const;
type Compared = (typeof COMPARED)[number];

const NORMAL: RivalMode = { model: 'activity', tools: 'activity', below: 'workflows' };
const LOCAL: RivalMode = { ...NORMAL, model: 'local' };
const RIVALS: Record<Exclude<Compared, 'history'>, Record<string, RivalMode>> = {
  step: {
    'plug-in, normal mode': NORMAL,
    'plug-in, `useLocalActivity`': LOCAL,
    'plug-in, `useLocalActivity`, tools local too': { ...LOCAL, tools: 'local' },
  },
  fanout: {
    'plug-in, normal mode, child workflows': NORMAL,
    'plug-in, normal mode, agents as tools': { ...NORMAL, below: 'nested' },
    'plug-in, `useLocalActivity`, child workflows': LOCAL,
    'plug-in, `useLocalActivity`, agents as tools': { ...LOCAL, below: 'nested' },
  },
};
const HISTORY_MARKS = [25, 50, 100, 400];
const STEPS = 40;
const FAN_OUT = { children: 50, steps: 5 };

/** Measures Cadre and Temporal's own plug-in in turns, on the same servers, and prints a table for each measurement. */
export async function compare(wanted: readonly Compared[], rounds: number): Promise<void> {
  prepareRivals();
  const versions = rivalVersions();
  console.log(
    `Cadre against @temporalio/openai-agents ${versions['@temporalio/openai-agents']} ` +
      `(@openai/agents-core ${versions['@openai/agents-core']}), ${rounds} rounds in turns.\n`,
  );
  const tuned = await Stage.open();
  const [file, memory] = [await startDevServer('file'), await startDevServer('memory')];
  try {
    const servers = { tuned, file, memory };
    if (wanted.includes('step')) await compareSteps(servers, rounds);
    if (wanted.includes('fanout')) await compareFanOut(servers, rounds);
    if (wanted.includes('history')) await compareHistories(tuned);
  } finally {
    await Promise.all([file.close(), memory.close()]);
    await tuned.close();
  }
}

interface Servers {
  tuned: Stage;
  file: DevServer;
  memory: DevServer;
}

const COLUMNS: Record<keyof Servers, string> = {
  tuned: "Cadre's embedded server, file",
  file: 'stock dev server, file',
  memory: 'stock dev server, in memory',
};

async function compareSteps(servers: Servers, rounds: number): Promise<void> {
  const steps = (contender: Contender) => stepTimes(contender, 1, STEPS);
  const times = await inTurns(servers, RIVALS.step, rounds, steps, steps);
  printByServer('ms a step: median (p95)', times, (values) => {
    const { median, p95 } = summarize(values);
    return `${median.toFixed(0)} (${p95.toFixed(0)})`;
  });
}

async function compareFanOut(servers: Servers, rounds: number): Promise<void> {
  const { children, steps } = FAN_OUT;
  const rate = async (contender: Contender) => [await fanOut(contender, children, steps)];
  const rates = await inTurns(servers, RIVALS.fanout, rounds, rate, (contender) => fanOut(contender, 3, 2));
  printByServer(`steps/s, ${children} agents × ${steps} steps: median (least – most)`, rates, (values) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return `${summarize(values).median.toFixed(1)} (${least.toFixed(1)} – ${most.toFixed(1)})`;
  });
}

type Measured = Map<string, Map<keyof Servers, number[]>>;

/**
 * One round of each after the other, so that what else the machine does meets all of them.
 *
 * @param warm goes before the rounds, and pays for what is loaded once
 */
async function inTurns(
  servers: Servers,
  rivals: Record<string, RivalMode>,
  rounds: number,
  measure: (contender: Contender) => Promise<number[]>,
  warm: (contender: Contender) => Promise<unknown>,
): Promise<Measured> {
  const measured: Measured = new Map();
  for (let round = 0; round <= rounds; round++) {
    for (const server of Object.keys(COLUMNS) as (keyof Servers)[]) {
      for (const open of contenders(servers[server].address, rivals)) {
        const contender = await open();
        try {
          if (round === 0) {
            await warm(contender);
            continue;
          }
          const values = await measure(contender);
          const row = measured.get(contender.name) ?? new Map<keyof Servers, number[]>();
          measured.set(contender.name, row.set(server, [...(row.get(server) ?? []), ...values]));
          const { median } = summarize(values);
          progress(`round ${round} of ${rounds}, ${COLUMNS[server]}: ${contender.name} ${median.toFixed(1)}`);
        } finally {
          await contender.close();
        }
      }
    }
  }
  return measured;
}

function contenders(address: string, rivals: Record<string, RivalMode>): (() => Promise<Contender>)[] {
  return [
    () => Stage.open({ address }),
    ...Object.entries(rivals).map(
      ([name, mode]) =>
        () =>
          Rival.open(name, mode, address),
    ),
  ];
}

function printByServer(title: string, measured: Measured, show: (values: number[]) => string): void {
  console.log(`| ${title} | ${Object.values(COLUMNS).join(' | ')} |`);
  console.log(
    `| --- |${Object.keys(COLUMNS)
      .map(() => ' ---: |')
      .join('')}`,
  );
  for (const [name, row] of measured) {
    const cells = (Object.keys(COLUMNS) as (keyof Servers)[]).map((server) => show(row.get(server) ?? []));
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
  console.log();
}

async function compareHistories({ address }: Stage): Promise<void> {
  const marks = HISTORY_MARKS.map((mark) => `after ${mark} |`).join(' ');
  console.log(`| KB of history (a step) | outputs | ${marks} the end |`);
  console.log(`| --- | --- |${HISTORY_MARKS.map(() => ' ---: |').join('')} --- |`);
  const rivals = { 'plug-in, normal mode': NORMAL, 'plug-in, `useLocalActivity`': LOCAL };
  for (const kind of ['source', 'random'] as const) {
    for (const open of contenders(address, rivals)) {
      const contender = await open();
      const growth = await historyGrowth(contender, HISTORY_MARKS, kind).finally(() => contender.close());
      console.log(historyRow(contender.name, kind, growth));
    }
  }
  console.log();
}

function historyRow(name: string, kind: OutputKind, { bytes, stopped }: HistoryGrowth): string {
  const cells = HISTORY_MARKS.map((mark) => {
    const total = bytes.get(mark);
    if (total === undefined) return '–';
    return `${Math.round(total / 1024).toLocaleString('en')} (${(total / 1024 / mark).toFixed(1)})`;
  });
  const end = stopped === undefined ? 'goes on' : `stops at step ${stopped.step}: ${stopped.status}`;
  return `| ${name} | ${kind === 'source' ? 'source code' : 'random'} | ${cells.join(' | ')} | ${end} |`;
}

function progress(text: string): void {
  console.error(`${text}, load ${loadavg()[0]?.toFixed(1)}`);
}
