/** A piece of input as any wire format can carry it. */
export type InputPart = { kind: 'text'; text: string } | { kind: 'image'; url: string };
