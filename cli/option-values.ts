import { InvalidArgumentError } from 'commander';
import { type AgentId, isAgentId } from '../protocol/ids.ts';

/** Parsers for option values; what they refuse is a usage error that names the option. */
export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('It has to be a whole number, 1 or more.');
  }
  return value;
}

export function naturalNumber(text: string): number {
  return text === '0' ? 0 : positiveInteger(text);
}

/** Milliseconds, from seconds such as `90` or `0.5`. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || !(value > 0) || value > 1e9) {
    throw new InvalidArgumentError('It has to be a number of seconds above 0.');
  }
  return Math.max(1, Math.round(value * 1_000));
}

/** How many a second, such as `5` or `0.5`. */
export function rate(text: string): number {
  const value = Number(text);
  if (/^\d*\.?\d+$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('It has to be a number above 0.');
}

/** For options that may be given several times. */
export function collect(text: string, before: string[] = []): string[] {
  return [...before, text];
}

export function agentId(text: string): AgentId {
  if (isAgentId(text)) return text;
  throw new InvalidArgumentError('It has to be an id such as a0k3v9x2m4qd7.');
}

export function portNumber(text: string): number {
  const value = naturalNumber(text);
  if (value <= 65_535) return value;
  throw new InvalidArgumentError('It has to be a port: 65535 at most.');
}

/** Addresses of web pages, of which several may be given. */
export function collectAddresses(text: string, before: string[] = []): string[] {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return [...before, text];
  throw new InvalidArgumentError('It has to be an address such as https://temporal.example.com.');
}
