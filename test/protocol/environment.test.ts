import { expect, test } from 'vitest';
import { filterEnvironment } from '../../protocol/environment.ts';

test('names that look like secrets are left out, whatever their case', () => {
  const environment = {
    PATH: '/bin',
    OPENAI_API_KEY: 'a',
    github_token: 'b',
    DB_PASSWORD_FILE: 'c',
    AWS_SECRET: 'd',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=e',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=f',
    EMPTY: '',
    UNSET: undefined,
  };
  expect(filterEnvironment(environment)).toEqual({ PATH: '/bin', EMPTY: '' });
});

test('a person may include a name that looks like a secret', () => {
  const environment = { KEYBOARD: 'de', MONKEY: 'x' };
  expect(filterEnvironment(environment, { include: ['KEYBOARD'] })).toEqual({ KEYBOARD: 'de' });
});

test('exclude takes names and globs, and wins over include', () => {
  const environment = { AWS_REGION: 'eu', AWS_PROFILE: 'p', HOME: '/h', SSH_KEY: 'k' };
  const rules = { include: ['SSH_*'], exclude: ['AWS_*', 'SSH_KEY'] };
  expect(filterEnvironment(environment, rules)).toEqual({ HOME: '/h' });
});

test('a dot in a glob is a dot', () => {
  expect(filterEnvironment({ 'A.B': '1', AXB: '2' }, { exclude: ['A.B'] })).toEqual({ AXB: '2' });
});
