/** A number with what it counts: `1 turn`, `3 turns`; a plural of another form is given. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
