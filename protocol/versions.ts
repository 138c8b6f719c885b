/**
 * Whether one version is another one or newer, by its first three numbers: what stands behind them (`-rc.1`, `+build`)
 * does not count.
 */
export function atLeast(version: string, oldest: string): boolean {
  const [a, b] = [version, oldest].map((text) => text.split('.').map((part) => Number.parseInt(part, 10)));
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
