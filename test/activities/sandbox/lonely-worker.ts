/** Stands for a worker: runs one command that would sleep for ever, until it is killed itself. */
import { bubblewrapArgv } from '../../../activities/sandbox/bubblewrap.ts';
import { probeBubblewrap } from '../../../activities/sandbox/probe-bubblewrap.ts';
import { runSupervised } from '../../../activities/sandbox/supervised.ts';

const [kind, seconds, announce] = process.argv.slice(2);
const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin' };
const script = `(setsid sleep ${seconds} &); sleep ${seconds} & sleep ${seconds}`;
let argv = ['/bin/sh', '-c', script];

if (kind === 'sandboxed') {
  const state = await probeBubblewrap();
  if (!state.works) {
    console.log(`skip: ${state.reason}`);
    process.exit(0);
  }
  const inside = {
    mode: 'read-only' as const,
    workingDirectory: '/',
    cwd: '/',
    stateDir: '/none',
    environment,
    argv,
  };
  argv = bubblewrapArgv(state.bubblewrap, inside);
}
if (announce !== undefined) console.log('starting');
const running = runSupervised({
  argv,
  cwd: '/',
  environment,
  signal: new AbortController().signal,
  timeoutMs: 600_000,
  sandboxed: kind === 'sandboxed',
  hasNamespace: kind === 'sandboxed',
  onOutput() {},
});
if (announce === undefined) console.log('running');
await running;
