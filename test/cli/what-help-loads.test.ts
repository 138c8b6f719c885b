import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { MAIN } from './run-cadre.ts';

/** Prints each module of Cadre's own that is loaded. */
const TELL_LOADED = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      process.stderr.write(url + '\\n');
      return next(url, context);
    },
  });
`)}`;

test('help comes without what only commands need: the whole protocol costs as long as everything else together', () => {
  const { status, stderr } = spawnSync(process.execPath, ['--import', TELL_LOADED, MAIN, '--help'], {
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  const loaded = stderr.split('\n');
  expect(loaded.some((url) => url.endsWith('/protocol/errors.ts'))).toBe(true);
  const heavy = /\/(protocol|server)\/index\.|\/commands\/|\/(worker|client|activities)\/|@temporalio/;
  expect(loaded.filter((url) => heavy.test(url))).toEqual([]);
});
