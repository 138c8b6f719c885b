import { matchesGlob } from './glob.ts';

/** What is configured for a model: under its own name, else under the first glob that matches. */
export function ofModel<T>(configured: Readonly<Record<string, T>>, model: string): T | undefined {
  if (Object.hasOwn(configured, model)) return configured[model];
  const glob = Object.keys(configured).find((pattern) => matchesGlob(model, pattern));
  return glob === undefined ? undefined : configured[glob];
}
