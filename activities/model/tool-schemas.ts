import { z } from 'zod';
import type { OfferedTool } from '../tools/offered-tool.ts';
import type { ToolDeclaration } from './providers/provider.ts';

type JsonSchema = Record<string, unknown>;

const known = new WeakMap<z.ZodType, JsonSchema>();

/** A tool as a model sees it, its arguments as JSON schema. */
export function declarationOf(tool: OfferedTool): ToolDeclaration {
  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.schema ?? schemaOf(tool.parameters),
  };
}

function schemaOf(parameters: z.ZodType): JsonSchema {
  const cached = known.get(parameters);
  if (cached !== undefined) return cached;
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  known.set(parameters, schema);
  return schema;
}
