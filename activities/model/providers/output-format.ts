type Schema = Record<string, unknown>;

/** The answer's format as both wire formats name it. Strict where the schema allows it: else the provider refuses it. */
export function outputFormat(schema: Schema): { name: string; schema: Schema; strict: boolean } {
  return { name: 'answer', schema, strict: isStrict(schema) };
}

/** Whether every object in the schema is closed and requires all that it names, as providers want of strict schemas. */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (typeof schema !== 'object' || schema === null) return true;
  const node = schema as Schema;
  if (node.type === 'object' || node.properties !== undefined) {
    const names = Object.keys((node.properties as Schema | undefined) ?? {});
    const required = Array.isArray(node.required) ? node.required : [];
    if (node.additionalProperties !== false || !names.every((name) => required.includes(name))) return false;
  }
  return Object.values(node).every(isStrict);
}
