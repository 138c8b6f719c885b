/** A list of texts that reads as lines where a template prints it, and is a list like any other elsewhere. */
export class Lines extends Array<string> {
  override toString(): string {
    return this.join('\n');
  }
}

/** A list or an object that a template prints: as text where other text stands beside it, else kept as it is. */
export class Printed {
  readonly value: object;

  constructor(value: object) {
    this.value = value;
  }

  toString(): string {
    return textOf(this.value);
  }
}

/** A value as text: lists and objects as JSON, nothing for null. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object' || value instanceof Lines || value instanceof Printed) return String(value);
  return JSON.stringify(value);
}
