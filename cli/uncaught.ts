/** Told of an error that nobody has caught; true where the process may go on. */
type Container = (error: unknown) => boolean;

let container: Container | undefined;

/** Who can tell where such errors come from says so; without it, each of them ends the process. */
export function containUncaught(by: Container): void {
  container = by;
}

export function isContained(error: unknown): boolean {
  return container?.(error) ?? false;
}
