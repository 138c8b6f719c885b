import { expect, test } from 'vitest';
import {
  collect,
  collectAddresses,
  naturalNumber,
  portNumber,
  positiveInteger,
  seconds,
} from '../../cli/option-values.ts';

test.each([
  ['1', 1],
  ['200', 200],
])('%s is a whole number', (text, value) => {
  expect(positiveInteger(text)).toBe(value);
});

test.each(['0', '-1', '1.5', '1e3', '', 'x', ' 1', '99999999999999999999'])(
  '%j is no whole number',
  (text) => {
    expect(() => positiveInteger(text)).toThrow(/whole number/);
  },
);

test('numbers that may be nothing start at 0', () => {
  expect(naturalNumber('0')).toBe(0);
  expect(() => naturalNumber('-1')).toThrow();
});

test.each([
  ['90', 90_000],
  ['0.5', 500],
  ['.25', 250],
  ['0.0001', 1],
])('%s seconds', (text, ms) => {
  expect(seconds(text)).toBe(ms);
});

test.each(['0', '-3', 'soon', '', '1e400', '5s', 'Infinity'])('%j is no time', (text) => {
  expect(() => seconds(text)).toThrow(/number of seconds/);
});

test('an option given several times is collected', () => {
  expect(collect('b', collect('a'))).toEqual(['a', 'b']);
});

test('a port is a number up to 65535', () => {
  expect(portNumber('8081')).toBe(8_081);
  for (const text of ['65536', '-1', 'http']) expect(() => portNumber(text), text).toThrow();
});

test('addresses of web pages are collected', () => {
  expect(collectAddresses('https://b', collectAddresses('http://127.0.0.1:1'))).toEqual([
    'http://127.0.0.1:1',
    'https://b',
  ]);
  for (const text of ['temporal', 'ftp://x', ''])
    expect(() => collectAddresses(text), text).toThrow(/address/);
});
